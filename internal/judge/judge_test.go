package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/judge"
	"github.com/headrace/headrace/store/txn"
)

// table lists every case. A field that a line does not name may have any value; the
// first line that fits counts. The fields and their values:
//
//	phase     claim handler record commit
//	class     other conflict connection unavailable aborted exists
//	          (conflict: serialization or lock timeout)
//	lost      our connection is lost           unclear   a batch handler names no message
//	store     not-asked serves away            late      the deadline had passed
//	n         one many (messages)              elsewhere not of our transaction
//	reruns    0 1 2                            unknown   COMMIT had no answer
//
// DESIGN §3 Judge.
const table = `
switched                                       => stop
refused                                        => release
cancelled                                      => release

phase=claim class=conflict n=many              => split
phase=claim class=conflict                     => busy
phase=claim store=not-asked                    => ask
phase=claim store=away                         => await
phase=claim n=many                             => split
phase=claim                                    => busy

phase=handler lost store=not-asked             => ask
phase=handler lost store=away                  => await
phase=handler lost unclear                     => split
phase=handler lost late                        => fail
phase=handler lost reruns=2 n=many             => split
phase=handler lost reruns=2                    => fail
phase=handler lost                             => rerun
phase=handler unclear                          => split
phase=handler elsewhere                        => fail
phase=handler late                             => fail
phase=handler class=conflict reruns=2          => fail
phase=handler class=conflict                   => rerun
phase=handler class=aborted n=many             => split
phase=handler class=exists n=many              => split
phase=handler class=unavailable store=not-asked => ask
phase=handler class=unavailable store=away     => await
phase=handler class=unavailable reruns=2       => fail
phase=handler class=unavailable                => rerun
phase=handler                                  => fail

phase=record class=aborted n=many              => split
phase=record class=aborted                     => fail
phase=record class=conflict n=many             => split
phase=record class=conflict reruns=2           => fail
phase=record class=conflict                    => rerun
phase=record store=not-asked                   => ask
phase=record store=away                        => await
phase=record n=many                            => split
phase=record reruns=2                          => fail
phase=record                                   => rerun

phase=commit unknown n=many reruns=0           => again
phase=commit unknown n=many                    => split
phase=commit unknown reruns=2                  => fail
phase=commit unknown                           => again
phase=commit class=unavailable store=not-asked => ask
phase=commit class=unavailable store=away      => await
phase=commit n=many                            => split
phase=commit class=unavailable reruns=2        => fail
phase=commit class=unavailable                 => rerun
phase=commit class=conflict reruns=2           => fail
phase=commit class=conflict                    => rerun
phase=commit                                   => fail
`

// Every combination of facts has the decision that the table has for it, and every line
// of the table decides something.
//
//evidence:judge
func TestTable(t *testing.T) {
	t.Parallel()
	var lines []string
	for line := range strings.Lines(table) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	used := make(map[string]bool)
	all(func(f judge.Facts) {
		words := wordsOf(f)
		i := slices.IndexFunc(lines, func(line string) bool {
			conditions, _, _ := strings.Cut(line, "=>")
			for _, c := range strings.Fields(conditions) {
				if !slices.Contains(words, c) {
					return false
				}
			}
			return true
		})
		if i < 0 {
			t.Fatalf("no line for %v", words)
		}
		used[lines[i]] = true
		_, want, _ := strings.Cut(lines[i], "=> ")
		if got := judge.Decide(f).String(); got != want {
			t.Errorf("%v: %s, want %s", words, got, want)
		}
	})
	for _, line := range lines {
		if !used[line] {
			t.Errorf("no facts for the line %q", line)
		}
	}
}

// Whatever happens again and again, a message comes to an end: where the store serves us
// and the message runs alone, its free runs are counted and end in an attempt.
//
//evidence:judge
func TestEverythingIsBounded(t *testing.T) {
	t.Parallel()
	all(func(f judge.Facts) {
		if f.Store != judge.Serves || f.Messages > 1 || f.Unclear || f.Reruns < judge.MaxReruns || f.Phase == judge.Claim {
			return
		}
		switch d := judge.Decide(f); d {
		case judge.Fail, judge.Release, judge.Stop:
		default:
			t.Errorf("%v: %s for ever", wordsOf(f), d)
		}
	})
}

var classes = map[txn.Class]string{
	txn.Other: "other", txn.Serialization: "conflict", txn.LockTimeout: "conflict", txn.Connection: "connection",
	txn.Unavailable: "unavailable", txn.Aborted: "aborted", txn.Exists: "exists",
}

// all calls do for every combination of facts.
func all(do func(judge.Facts)) {
	for bits := range 1 << 8 {
		on := func(bit int) bool { return bits&(1<<bit) != 0 }
		for phase := judge.Claim; phase <= judge.Commit; phase++ {
			for class := range classes {
				for store := judge.NotAsked; store <= judge.Away; store++ {
					for messages := 1; messages <= 2; messages++ {
						for reruns := range judge.MaxReruns + 1 {
							do(judge.Facts{
								Phase: phase, Class: class, Store: store, Messages: messages, Reruns: reruns,
								Lost: on(0), Elsewhere: on(1), Late: on(2), Unclear: on(3), Cancelled: on(4), Refused: on(5),
								Unknown: on(6), Switched: on(7),
							})
						}
					}
				}
			}
		}
	}
}

func wordsOf(f judge.Facts) []string {
	words := []string{
		"phase=" + [...]string{"claim", "handler", "record", "commit"}[f.Phase], "class=" + classes[f.Class],
		"store=" + [...]string{"not-asked", "serves", "away"}[f.Store], "n=" + [...]string{"one", "many"}[f.Messages-1],
		fmt.Sprint("reruns=", f.Reruns),
	}
	for word, is := range map[string]bool{
		"lost": f.Lost, "elsewhere": f.Elsewhere, "late": f.Late, "unclear": f.Unclear, "cancelled": f.Cancelled,
		"refused": f.Refused, "unknown": f.Unknown, "switched": f.Switched,
	} {
		if is {
			words = append(words, word)
		}
	}
	return words
}
