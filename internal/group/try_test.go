package group

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Claim: a group's first claim is unguarded; where a key is held elsewhere it is
// claimed again with the guard, a single one is left alone for a while. Each sets the
// idle timeout above the handler's deadline.
func TestClaimRequests(t *testing.T) {
	r := newRig(t, fine)
	r.fail = times(1, "claim", timedOut)
	want(t, "ends", r.process("a", "b"), "a applied, b applied")
	r.fail = times(1, "claim", timedOut)
	c := r.tasks("c")
	want(t, "to be given back", len(r.e.process(c)), 1)
	want(t, "rests", c[0].rest, restTime)
	want(t, "counted as the time that a task takes", r.e.perTask.Load() < int64(time.Second), true)
	idle := (time.Minute + time.Second + 5*time.Second).String()
	want(t, "claims", strings.Join(r.calls("claim"), "; "),
		"claim a,b unguarded true lock 200ms idle "+idle+"; claim a,b unguarded false lock 200ms idle "+idle+
			"; claim c unguarded true lock 200ms idle "+idle)
}

// Own errors are nobody's attempt, and each class has its way.
func TestOwnErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		fail  func(string) error
		gate  int // how often it closed
		pings int
		begin int
	}{
		{"deadlock of a claim", times(1, "claim", deadlock), 0, 0, 3},
		{"connection lost, store answers", times(1, "claim", errLost), 0, 1, 3},
		{"connection lost, store silent", fails(times(1, "claim", errLost), times(1, "ping", errLost)), 1, 2, 2},
		{"no connection", times(1, "begin", errLost), 1, 1, 2},
		{"store silent for a while", fails(times(1, "begin", errLost), times(2, "ping", errLost)), 1, 3, 2},
		{"something else", times(1, "claim", sqlState("53300")), 1, 1, 2},
		{"commit refused", times(1, "commit", txn.ErrRolledBack), 0, 0, 3},
		{"commit unknown", times(1, "commit", txn.ErrCommitUnknown), 1, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, fine)
			r.fail = c.fail
			want(t, "ends", r.process("a", "b"), "a applied, b applied")
			want(t, "attempts", len(r.calls("attempt")), 0)
			want(t, "gate closed", r.hooks("gate false"), c.gate)
			want(t, "gate opened", r.hooks("gate true"), c.gate)
			want(t, "pings", len(r.calls("ping")), c.pings)
			want(t, "transactions", len(r.calls("begin")), c.begin)
		})
	}
}

func fails(all ...func(string) error) func(string) error {
	return func(call string) error {
		for _, f := range all {
			if err := f(call); err != nil {
				return err
			}
		}
		return nil
	}
}

// With a healthy store a lost connection, a deadlock and a refused commit may be the
// message's own doing: after some free runs each counts as an attempt.
func TestFreeRunsAreBounded(t *testing.T) {
	for name, fail := range map[string]func(string) error{
		"claim loses the connection":  times(1+maxReruns, "claim", errLost),
		"commit loses the connection": times(1+maxReruns, "commit", errLost),
		"commit is a deadlock":        times(1+maxReruns, "commit", errors.Join(txn.ErrRolledBack, deadlock)),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fine)
			r.fail = fail
			want(t, "ends", r.process("m"), "m waiting")
			want(t, "claims", len(r.calls("claim")), 1+maxReruns)
			want(t, "attempts", r.attempts("m"), 1)
		})
	}
	for name, err := range map[string]error{"deadlock": deadlock, "connection": errLost} {
		t.Run("handler: "+name, func(t *testing.T) {
			s := script{errs: map[string][]error{"m": {err, err, err}}}
			r := newRig(t, s.run)
			want(t, "ends", r.process("m"), "m waiting")
			want(t, "runs", len(s.runs), 1+maxReruns)
			want(t, "attempts", r.attempts("m"), 1)
		})
	}
}

// The connection of a failed group goes back before the store is pinged: a pool of
// one would never answer.
func TestPingsWithoutItsConnection(t *testing.T) {
	for name, fail := range map[string]func(string) error{
		"handler": nil,
		"lock":    times(1+maxReruns, "lock", errLost),
		"claim":   times(1+maxReruns, "claim", errLost),
	} {
		t.Run(name, func(t *testing.T) {
			s := script{errs: map[string][]error{"a1": {errLost, errLost, errLost}}}
			if fail != nil {
				s.errs = nil
			}
			r := newRig(t, s.run, strictly)
			r.fail = fail
			r.spy.Store = &poolOfOne{Store: r.spy.Store}
			want(t, "ends", r.process("a1@a"), "a1 waiting")
			want(t, "gate closed", r.hooks("gate false"), 0)
		})
	}
}

// A deadlock of one handler is run again at once, singly, and shrinks the groups.
func TestDeadlockOfAHandler(t *testing.T) {
	s := script{errs: map[string][]error{"b": {deadlock}}}
	r := newRig(t, s.run)
	want(t, "ends", r.process("a", "b", "c"), "a applied, b applied, c applied")
	want(t, "commits", len(r.calls("commit")), 3)
	want(t, "attempts", r.attempts("b"), 0)
	want(t, "limit", r.e.limit(), shrunkSize)
}

// A handler's lost connection while the store is silent is the outage's.
func TestHandlerInAnOutageSpendsNothing(t *testing.T) {
	s := script{errs: map[string][]error{"m": {errLost, errLost, errLost, errLost, errLost}}}
	r := newRig(t, s.run)
	silent := 0
	r.fail = func(call string) error { // the first ping of each outage
		if call == "ping" {
			if silent++; silent%2 == 1 {
				return errLost
			}
		}
		return nil
	}
	want(t, "ends", r.process("m"), "m applied")
	want(t, "attempts", r.attempts("m"), 0)
	want(t, "runs", len(s.runs), 6)
}

// A transaction that an earlier handler of the group had aborted is not this one's
// failure; alone, it is.
func TestAbortedTransactionIsTheCulprits(t *testing.T) {
	s := script{errs: map[string][]error{"b": {aborted}}}
	r := newRig(t, s.run)
	want(t, "ends", r.process("a", "b", "c"), "a applied, b applied, c applied")
	want(t, "attempts", r.attempts("b"), 0)
	s.errs["d"] = []error{aborted}
	r.process("d")
	want(t, "attempts of the culprit", r.attempts("d"), 1)
}

// COMMIT: a refused one of a group is of nobody known; alone, it is an attempt.
func TestRefusedCommit(t *testing.T) {
	r := newRig(t, fine)
	r.fail = times(2, "commit", txn.ErrRolledBack) // of the group, and of the first alone
	want(t, "ends", r.process("a", "b"), "a waiting, b applied")
	want(t, "attempts", r.attempts("a")+10*r.attempts("b"), 1)

	r = newRig(t, fine)
	meant := "" // the keys of the latest claim
	r.fail = func(call string) error {
		keys, claimed := strings.CutPrefix(call, "claim ")
		if claimed {
			meant, _, _ = strings.Cut(keys, " ")
		}
		if strings.HasPrefix(call, "commit") && strings.Contains(meant, "b") {
			meant = "" // its verdict is committed
			return txn.ErrRolledBack
		}
		return nil
	}
	want(t, "ends", r.process("a", "b", "c"), "a applied, b waiting, c applied")
	want(t, "attempts", fmt.Sprint(r.attempts("a"), r.attempts("b"), r.attempts("c")), "0 1 0")
}

// COMMIT: after an unknown one the row that is there says what became of it.
func TestUnknownCommitIsReadFromTheRow(t *testing.T) {
	unknown := func(n int) func(string) error { return times(n, "commit", txn.ErrCommitUnknown) }
	t.Run("applied", func(t *testing.T) {
		r := newRig(t, fine)
		r.after = unknown(1)
		want(t, "ends", r.process("m"), "m applied")
	})
	for name, c := range map[string]struct {
		err      error
		ends     string
		attempts int
	}{
		"later": {errBoom, "m waiting", 1},
		"stale": {inbox.ErrStale, "m stale", 0},
		"again": {errBoom, "m waiting", 2},
	} {
		for _, happened := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				s := script{errs: map[string][]error{"m": {c.err, c.err, c.err}}}
				r := newRig(t, s.run)
				if name == "again" {
					r.h.Policy.Immediate = 1
				}
				if r.fail = unknown(1); happened {
					r.fail, r.after = nil, unknown(1)
				}
				want(t, "ends", r.process("m"), c.ends)
				want(t, "attempts", r.attempts("m"), c.attempts)
				want(t, "runs", len(s.runs), max(1, c.attempts))
			})
		}
	}
}

// A duplicate of a message that somebody else finished stays a duplicate, though a
// COMMIT of ours before had no answer.
func TestUnknownCommitOfADiscardedMessage(t *testing.T) {
	r := newRig(t, fine)
	task := r.task("m")
	task.unknown = true
	want(t, "outcome", task.before(inbox.Entry{State: inbox.Discarded}), Duplicate)
	want(t, "outcome", r.task("m").before(inbox.Entry{State: inbox.Done}), Duplicate)
}

// Infrastructure at the end: a store that does not answer holds nothing up, and the
// gate is not closed by the end of a context.
func TestOutageDuringShutdownReleases(t *testing.T) {
	r := newRig(t, fine)
	r.fail = func(string) error { r.stop(); return errLost }
	want(t, "again", keysOf(r.e.process(r.tasks("a", "b"))), "a,b")
	want(t, "gate closed", r.hooks("gate false"), 0)

	s := script{errs: map[string][]error{"a": {errBoom}}}
	r = newRig(t, s.run)
	r.after = func(call string) error {
		if strings.HasPrefix(call, "claim") { // from the verdict on
			r.spy.mu.Lock()
			defer r.spy.mu.Unlock()
			r.fail = func(string) error { r.stop(); return errLost }
		}
		return nil
	}
	want(t, "again", keysOf(r.e.process(r.tasks("a"))), "a")
	want(t, "state", r.state("a"), "")
}

// Shutdown during an outage that swallows every answer ends within bounds: what is
// left to write shares one deadline after the drain time.
func TestLastCallIsShared(t *testing.T) {
	r := newRig(t, fine, func(r *rig) { r.o.Grace = 50 * time.Millisecond })
	r.spy.Store = hanging{r.spy.Store}
	r.stop()
	r.cut()
	bad := r.tasks("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	for _, task := range bad {
		task.Bad = errBoom
	}
	start := time.Now()
	want(t, "again", len(r.e.process(bad)), len(bad))
	if took := time.Since(start); took > 5*r.o.Grace {
		t.Errorf("took %s", took)
	}
}

// hanging is a store whose Begin has no answer.
type hanging struct{ Store }

func (hanging) Begin(ctx context.Context) (*txn.Txn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// While the consumer drains, what was taken still gets its transactions.
func TestDrainingStillBegins(t *testing.T) {
	s := script{errs: map[string][]error{"m": {errBoom}}}
	r := newRig(t, s.run)
	r.after = func(call string) error {
		if strings.HasPrefix(call, "claim") {
			r.stop()
		}
		return nil
	}
	want(t, "ends", r.process("m"), "m waiting")
}

// A claim or an order key that is held elsewhere for longer than our statements may
// take is no outage: the messages are tried again, the gate stays open.
func TestHeldElsewhereIsNoOutage(t *testing.T) {
	for _, call := range []string{"lock", "claim", "attempt", "record"} {
		t.Run(call, func(t *testing.T) {
			s := script{errs: map[string][]error{"a1": {errBoom}}}
			r := newRig(t, s.run, strictly, func(r *rig) { r.o.Patience = 100 * time.Millisecond })
			r.fail = r.outwaits(1, call)
			want(t, "ends", r.process("a1@a"), "a1 waiting")
			want(t, "attempts", r.attempts("a1"), 1)
			want(t, "gate closed", r.hooks("gate false"), 0)
		})
	}
	t.Run("undecodable", func(t *testing.T) {
		r := newRig(t, fine, func(r *rig) { r.o.Patience = 100 * time.Millisecond })
		r.fail = r.outwaits(1, "claim")
		bad := r.task("m")
		bad.Bad = errBoom
		want(t, "again", len(r.e.process([]*Task{bad})), 0)
		want(t, "ends", r.ended(), "m dead")
		want(t, "gate closed", r.hooks("gate false"), 0)
	})
}

// A statement that gets no answer in its time is no key that is held elsewhere, where a
// ping gets none either: the gate closes, and opens only when the store answers.
func TestSilenceIsAnOutage(t *testing.T) {
	for _, call := range []string{"lock", "claim", "attempt", "record"} {
		t.Run(call, func(t *testing.T) {
			s := script{errs: map[string][]error{"a1": {errBoom}}}
			r := newRig(t, s.run, strictly, func(r *rig) { r.o.Patience = 100 * time.Millisecond })
			silent, pings := r.outwaits(1, call), 0
			r.fail = func(name string) error {
				if name == "ping" {
					if pings++; pings < 3 {
						return errLost
					}
				}
				return silent(name)
			}
			want(t, "ends", r.process("a1@a"), "a1 waiting")
			want(t, "attempts", r.attempts("a1"), 1)
			want(t, "gate closed", r.hooks("gate false"), 1)
			want(t, "gate opened", r.hooks("gate true"), 1)
		})
	}
}

// After the drain time nobody waits for a key that is held elsewhere.
func TestClaimEndsWithTheDrainTime(t *testing.T) {
	r := newRig(t, fine)
	other, err := r.Store.Begin(t.Context()) // SQLite's one writer
	if err != nil {
		t.Fatal(err)
	}
	defer other.Rollback()
	r.spy.Store = claiming{r.spy.Store, func() { r.stop(); r.cut() }, other}
	want(t, "again", keysOf(r.e.process(r.tasks("m"))), "m")
}

// claiming is a store whose claim waits until its context ends; begin is called first.
type claiming struct {
	Store
	begin func()
	t     *txn.Txn
}

func (c claiming) Begin(context.Context) (*txn.Txn, error) { return c.t, nil }
func (c claiming) Inbox() inbox.Store                      { return waiting{c.Store.Inbox(), c.begin} }

type waiting struct {
	inbox.Store
	begin func()
}

func (w waiting) Claim(ctx context.Context, _ *txn.Txn, _ inbox.ClaimRequest) ([]inbox.Claimed, error) {
	w.begin()
	<-ctx.Done()
	return nil, ctx.Err()
}

// The relay is woken by a commit with events, and by no other.
func TestWakeAfterCommitsWithEvents(t *testing.T) {
	r := newRig(t, func(_ context.Context, tx *headrace.Tx, key string) error {
		switch key {
		case "quiet":
			return nil
		case "dead":
			return errBoom
		}
		return tx.Publish(headrace.Event{Topic: "t", Payload: []byte("p")})
	})
	r.h.Policy.MaxAttempts = 1
	r.process("quiet")
	want(t, "woken", r.hooks("wake"), 0)
	r.process("events")
	want(t, "woken", r.hooks("wake"), 1)
	r.process("dead")
	want(t, "woken", r.hooks("wake"), 2)
	want(t, "commits with rows", len(r.calls("commit 1")), 2)
}
