package group

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// letters returns the classes of the letters of a key, oldest first.
func (r *rig) letters(key string) string {
	r.Helper()
	list, err := r.Store.Letters().List(r.Context(), dlq.Filter{Key: key}, 0, 100)
	if err != nil {
		r.Fatal(err)
	}
	var classes []string
	for _, l := range list {
		classes = append([]string{string(l.Class)}, classes...)
	}
	return strings.Join(classes, " ")
}

// other returns a delivery under the same key that says something else.
func (r *rig) other(key string) *Task {
	t := r.task(key)
	t.Delivery.Fingerprint = "other"
	return t
}

// Conflict: what cannot be decoded under a key that belongs to another message is a
// letter of its own, not a duplicate that is acknowledged and gone.
func TestUndecodableUnderAUsedKey(t *testing.T) {
	r := newRig(t, fine)
	bad := func(t *Task) *Task { t.Bad = errBoom; return t }
	r.process("m")
	for range 2 {
		r.e.process([]*Task{bad(r.other("m"))})
	}
	r.e.process([]*Task{bad(r.task("m"))})
	want(t, "ends", r.ended(), "m applied, m conflict, m conflict, m duplicate")
	want(t, "letters", r.letters("m"), "conflict")
	want(t, "state", r.state("m"), inbox.Done)
	want(t, "copies", r.hooks("wake"), 1)

	r.e.process([]*Task{bad(r.task("n"))})
	want(t, "letters", r.letters("n"), "undecodable")
	want(t, "state", r.state("n"), inbox.Dead)
	want(t, "attempts", r.attempts("n"), 0)
}

// The verdict on a message that somebody else finished meanwhile is dropped, with its
// attempt: a duplicate, unless the other had another message under that key.
func TestVerdictThatComesTooLate(t *testing.T) {
	for name, err := range map[string]error{"now": errBoom, "later": retry.After(time.Hour, errBoom), "never": retry.Permanent(errBoom), "stale": inbox.ErrStale} {
		for fingerprint, end := range map[string]string{"f-m": "m duplicate", "another": "m conflict"} {
			t.Run(name+" "+end, func(t *testing.T) {
				s := script{errs: map[string][]error{"m": {err}}}
				r := newRig(t, s.run)
				r.fail = func(call string) error {
					if call != "begin" || len(r.calls("claim")) != 1 || len(r.calls("begin")) != 2 {
						return nil
					}
					r.elsewhere(inbox.Entry{ID: r.task("m").ID(), State: inbox.Done, Fingerprint: fingerprint})
					return nil
				}
				want(t, "ends", r.process("m"), end)
				want(t, "attempts", r.attempts("m"), 0)
				want(t, "state", r.state("m"), inbox.Done)
				want(t, "told of failures", r.hooks("failed"), 0)
			})
		}
	}
}

// elsewhere records e as another process would.
func (r *rig) elsewhere(e inbox.Entry) {
	r.Helper()
	t, err := r.Store.Begin(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.Store.Inbox().Record(r.Context(), t, e); err != nil {
		r.Fatal(err)
	}
	if err := r.Store.Commit(r.Context(), t, nil); err != nil {
		r.Fatal(err)
	}
}

// The verdict on a message is insisted on: an outage closes the gate and holds it, a
// deadlock is run again at once.
func TestVerdictIsInsistedOn(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		gate int
	}{"outage": {errLost, 1}, "deadlock": {deadlock, 0}, "lock timeout": {timedOut, 0}} {
		t.Run(name, func(t *testing.T) {
			s := script{errs: map[string][]error{"m": {errBoom}}}
			r := newRig(t, s.run)
			r.fail = times(2, "attempt", c.err)
			want(t, "ends", r.process("m"), "m waiting")
			want(t, "attempts", r.attempts("m"), 1)
			want(t, "gate closed", r.hooks("gate false"), c.gate)
			want(t, "gate opened", r.hooks("gate true"), c.gate)
		})
	}
}

// A verdict that never finds its lock does not keep the consumer from stopping.
func TestVerdictGivesUpAfterTheDrainTime(t *testing.T) {
	s := script{errs: map[string][]error{"m": {errBoom}}}
	r := newRig(t, s.run)
	r.fail = func(call string) error {
		if strings.HasPrefix(call, "attempt") {
			r.stop()
			r.cut()
			return timedOut
		}
		return nil
	}
	want(t, "again", keysOf(r.e.process(r.tasks("m"))), "m")
}

// What logs and counters are told of a failed run.
func TestFailedRunsAreTold(t *testing.T) {
	s := script{errs: map[string][]error{"m": {errBoom, errBoom}, "p": {retry.Permanent(errBoom)}}}
	r := newRig(t, s.run)
	r.h.Policy.Immediate = 1
	r.process("m")
	r.process("p")
	want(t, "told", strings.Join(r.told, "; "), "failed m transient applied true; failed m transient waiting false; "+
		"wake; failed p permanent dead false")
	want(t, "letter", r.letters("p"), "permanent")
}

// A dead letter that is there already makes no second copy.
func TestCopyOnlyOfAWrittenLetter(t *testing.T) {
	r := newRig(t, fine)
	r.process("m")
	r.e.process([]*Task{r.other("m")})
	want(t, "rows written", len(r.calls("commit 1")), 1)
	r.e.process([]*Task{r.other("m")})
	want(t, "rows written", len(r.calls("commit 1")), 1)
	r.o.DeadTopic = func(string) string { return "" }
	r.process("n")
	r.e.process([]*Task{r.other("n")})
	want(t, "rows written without a topic", len(r.calls("commit 1")), 1)
}

// The next run is told which attempt it is, and so is the backlog.
func TestAttemptNumbers(t *testing.T) {
	var seen []int
	r := newRig(t, nil)
	r.h.Policy.Immediate = 1
	r.h.Run = func(_ context.Context, _ *headrace.Tx, inputs []Input) error {
		seen = append(seen, inputs[0].Delivery.Attempt)
		return errBoom
	}
	r.process("m")
	if len(seen) != 2 || seen[0] != 1 || seen[1] != 2 {
		t.Errorf("runs were told %v", seen)
	}
	want(t, "put", strings.Join(r.calls("put"), ";"), "put m blocked false attempt 3")
}
