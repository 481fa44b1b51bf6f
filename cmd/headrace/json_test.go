package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// jsonRuns is a command line for each command, with its exit status. TestJSON runs them in
// this order, on one database.
var jsonRuns = []struct {
	command, args string
	status        int
}{
	// Those that say whether a process runs come first.
	{"status", "", exitPartial},
	{"consumer pause", "billing", exitDone},
	{"consumer ls", "", exitDone},
	{"alert ls", "--all", exitDone},
	{"migrate up", "", exitDone},
	{"migrate status", "", exitDone},
	{"migrate print", "", exitDone},
	{"migrate grants", "", exitUsage},
	{"check", "", exitDone},
	{"consumer resume", "billing", exitDone},
	{"audit ls", "", exitDone},
	{"migrate new-id", "--yes", exitDone},
	{"dlq ls", "", exitDone},
	{"dlq groups", "", exitDone},
	{"dlq show", "1 --payload", exitDone},
	{"dlq export", "1 2 --by ann", exitDone},
	{"prepare", "dlq export 1 2 --unredacted --reason test --by ann --file FILE", exitDone},
	{"dlq import", "FILE --reason test --yes", exitPartial},
	{"dlq why", "a276 --handler orders.paid", exitDone},
	{"dlq note", "a276 mended --assign ann", exitDone},
	{"dlq mute", "a276 --for 1h", exitDone},
	{"dlq unmute", "a276", exitDone},
	{"dlq resolve", "a276 --in v2", exitDone},
	{"prepare", "dlq redrive --direct 1 --yes --by ann", exitDone},
	{"prepare", "dlq discard --direct 2 6 --reason test --yes --open-calls --by ann", exitDone},
	{"backlog ls", "", exitDone},
	{"backlog groups", "", exitDone},
	{"backlog show", "1 --payload", exitDone},
	{"inbox show", "k1", exitDone},
	{"intent show", "billing/orders.paid answered --payload", exitDone},
	{"inbox missing", "billing/orders.paid", exitFailed},
	{"steps ls", "", exitDone},
	{"steps find", "erp\x1b[2J inv_1", exitDone},
	{"steps resolve", "--direct billing/orders.paid s1 payout --done --reason test --yes", exitDone},
	{"steps send", "--direct billing/orders.paid w1 approval true", exitDone},
	{"steps erase", "--direct billing/orders.paid s2 --reason gdpr --yes", exitDone},
	{"suspect begin", "--until 90m --reason test --yes", exitDone},
	{"suspect end", "--reason test --yes", exitDone},
	{"system pause", "bank --for 1h", exitDone},
	{"system ls", "", exitDone},
	{"system resume", "bank", exitDone},
	{"schedule ls", "", exitDone},
	{"schedule fire", "nightly", exitDone},
	{"outbox status", "", exitDone},
	{"outbox parked", "", exitDone},
	{"outbox unpark", "--all --yes", exitDone},
	{"outbox local", "--yes", exitDone},
	{"subscription ls", "", exitDone},
	{"subscription move", "shipping invoicing --yes", exitDone},
	{"subscription remove", "invoicing --yes", exitDone},
	{"prune", "--source-retention 1h", exitDone},
	{"ui", "--listen 0.0.0.0:0", exitUsage}, // it serves pages, and prints nothing
	{"version", "", exitDone},
}

// redriveRuns are those that need a process of billing. A command that is not JSON prepares the next
// one.
var redriveRuns = []struct {
	command, args string
	status        int
}{
	{"dlq rehearse", "3", exitDone},
	{"dlq edit", "3 --header edited=yes --reason test --yes --by ann", exitDone},
	{"prepare", "dlq discard --direct 3 --reason test --yes", exitDone},
	{"dlq restore", "3 --reason test --yes --by ann", exitDone},
	{"alert test", "billing", exitDone},
	{"backlog cancel", "gone --reason test --yes", exitDone},
	{"backlog retry", "again", exitDone},
	{"redrive plan", "--class exhausted --by ann", exitDone},
	{"redrive apply", "R-1 --reason test --by ann", exitDone},
	{"redrive show", "R-1", exitDone},
	{"redrive ls", "", exitDone},
	{"redrive letters", "R-1", exitDone},
	{"redrive watch", "R-1", exitDone},
	{"prepare", "redrive plan --class conflict --by ann", exitDone},
	{"prepare", "consumer pause billing", exitDone},
	{"prepare", "redrive apply R-2 --reason test --anyway --detach --by ann", exitDone},
	{"redrive pause", "R-2 --reason test --by ann", exitDone},
	{"redrive resume", "R-2", exitDone},
	{"redrive cancel", "R-2 --reason test --by ann", exitDone},
	{"prepare", "consumer resume billing", exitDone},
	{"dlq redrive", "1 7 99 --reason test --yes --by ann", exitPartial},
	{"dlq discard", "4 --reason test --yes --by ann", exitDone},
}

// Every command prints JSON in the envelope, with the same names, and times in UTC, as in its
// golden file.
func TestJSON(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.seed("dead", "3")
	p.seed("conflict", "k1")
	p.seed("parked", "2")
	p.seed("postponed", "later")
	p.seed("retried", "gone")
	p.seed("retried", "again")
	p.seed("subscription", "shipping")
	p.seed("alerts", "billing")
	p.seed("schedule", "nightly")
	p.seed("answered", "answered")
	p.seed("steps", "s1")
	p.seed("steps", "s2")
	p.seed("signal", "w1")
	p.seed("instance", "billing") // last: it counts as running for 12 seconds
	p.stdin = "k1\nk8\nk9\n"
	var known []string
	var b billing
	file := filepath.Join(t.TempDir(), "letters")
	for i, run := range append(slices.Clone(jsonRuns), redriveRuns...) {
		if i == len(jsonRuns) {
			b.start(p, "v1.2.3")
		}
		run.args = strings.Replace(run.args, "FILE", file, 1)
		if run.command == "prepare" {
			p.run(run.status, nil, strings.Fields(run.args)...)
			continue
		}
		known = append(known, run.command)
		args := append(strings.Fields(run.command), strings.Fields(run.args)...)
		p.run(run.status, nil, append(args, "-o", "json")...)
		checkGolden(t, run.command, p.stdout.String())
		d := json.NewDecoder(&p.stdout)
		n := 0
		for ; ; n++ {
			var object map[string]any
			if err := d.Decode(&object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", run.command, err)
			}
			if object["v"] != float64(jsonVersion) {
				t.Errorf("%s: v is %v", run.command, object["v"])
			}
			checkNames(t, run.command, object)
		}
		if n == 0 && run.status != exitUsage {
			t.Errorf("%s prints no JSON", run.command)
		}
	}
	slices.Sort(known)
	if leaves := commands(New().root()); !slices.Equal(leaves, known) {
		t.Errorf("jsonRuns has\n%q\nthe commands are\n%q", known, leaves)
	}
}

// commands returns the commands below c that do something.
func commands(c *cobra.Command) (list []string) {
	walk(c, func(name string, _ *cobra.Command) { list = append(list, name) })
	slices.Sort(list)
	return list
}

var (
	memberName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	instant    = regexp.MustCompile(`^\d{4}-\d\d-\d\dT`)
	// otherNames are names for what has another one.
	otherNames = []string{"group", "print", "error_print", "letters", "trail", "sample"}
)

// checkNames fails for members and times that look different elsewhere. Headers have the
// names that their message gives them.
func checkNames(t *testing.T, where string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if !memberName.MatchString(name) || slices.Contains(otherNames, name) {
				t.Errorf("%s: the member %q", where, name)
			}
			if name != "headers" && name != "builds" {
				checkNames(t, where+"."+name, member)
			}
		}
	case []any:
		for i, member := range value {
			checkNames(t, fmt.Sprintf("%s[%d]", where, i), member)
		}
	case string:
		if !instant.MatchString(value) {
			return
		}
		if _, err := time.Parse(time.RFC3339Nano, value); err != nil || !strings.HasSuffix(value, "Z") {
			t.Errorf("%s: the time %q", where, value)
		}
	}
}

// All letters as one object, which is printed in parts, are the object that one page of them is.
func TestAllPagesAreOneObject(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "30")
	p.run(exitDone, nil, "dlq", "ls", "-o", "json")
	page := p.stdout.String()
	p.run(exitDone, nil, "dlq", "ls", "-o", "json", "--all-pages")
	if all := p.stdout.String(); all != page || len(page) == 0 {
		t.Errorf("%s\nand as one page:\n%s", all, page)
	}
}

// walk calls f with each command below c that does something, by its path.
func walk(c *cobra.Command, f func(name string, c *cobra.Command)) {
	for _, child := range c.Commands() {
		if child.HasSubCommands() {
			walk(child, f)
		} else {
			_, name, _ := strings.Cut(child.CommandPath(), " ")
			f(name, child)
		}
	}
}
