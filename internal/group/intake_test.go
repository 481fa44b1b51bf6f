package group

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

func takesIn(r *rig) { r.h.Intake = true }

// A group is taken in by one transaction: a claim, a move to waiting, the rows.
func TestIntake(t *testing.T) {
	r := newRig(t, fine, takesIn)
	want(t, "ends", r.process("a", "b", "c"), "a waiting, b waiting, c waiting")
	var statements []string
	for _, call := range r.calls() {
		statements = append(statements, strings.Fields(call)[0])
	}
	want(t, "calls", strings.Join(statements, " "), "begin claim transition put commit")
	want(t, "depth", r.depth(), "3 ready, 0 delayed, 0 blocked")
	r.ends = nil
	want(t, "again", r.process("a", "d"), "a duplicate, d waiting")
	l := NewLine(r.soft, "c", r.spy, map[string]*Engine{"h": r.e}, r.o)
	for shard := range 16 {
		for more := true; more; {
			result, err := l.Work(r.soft, shard, 0)
			if err != nil {
				t.Fatal(err)
			}
			more = result.Rows > 0
		}
	}
	want(t, "applied", r.hooks("drained applied"), 4)
	want(t, "state", r.state("a"), inbox.Done)
}

// DESIGN 3, Order: the second of a key stands behind the first, of this group or an
// earlier one.
func TestIntakeKeepsOrder(t *testing.T) {
	r := newRig(t, fine, takesIn, strictly)
	want(t, "ends", r.process("a@k", "b@k", "c"), "c waiting, a waiting, b waiting")
	want(t, "depth", r.depth(), "2 ready, 0 delayed, 1 blocked")
	r.ends = nil
	want(t, "ends", r.process("d@k"), "d waiting")
	want(t, "depth", r.depth(), "2 ready, 0 delayed, 2 blocked")
}

// What somebody else works on is given back, with the later ones of its order key.
func TestIntakeBusy(t *testing.T) {
	r := newRig(t, fine, takesIn)
	r.busy["b"] = 1
	again := r.e.process(r.tasks("a@j", "b@k", "c@k"))
	want(t, "given back", keysOf(again), "b,c")
	want(t, "ends", r.ended(), "a waiting")
}

// No handler has run: nothing that goes wrong is an attempt, and a COMMIT without an
// answer is read again.
func TestIntakeIsNobodysAttempt(t *testing.T) {
	for name, fail := range map[string]func(*spy){
		"deadlock":          func(s *spy) { s.fail = times(1, "claim", deadlock) },
		"connection":        func(s *spy) { s.fail = times(3, "put", errLost) },
		"rolled back":       func(s *spy) { s.fail = times(1, "commit", txn.ErrRolledBack) },
		"unknown, happened": func(s *spy) { s.after = times(1, "commit", txn.ErrCommitUnknown) },
		"unknown, did not":  func(s *spy) { s.fail = times(1, "commit", txn.ErrCommitUnknown) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fine, takesIn)
			fail(r.spy)
			want(t, "ends", r.process("a", "b"), "a waiting, b waiting")
			want(t, "attempts", r.attempts("a")+r.attempts("b"), 0)
			want(t, "depth", r.depth(), "2 ready, 0 delayed, 0 blocked")
		})
	}
}
