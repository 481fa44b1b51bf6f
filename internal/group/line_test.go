package group

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// theShard is where the rows of the order key "k" stand.
var theShard = shard.Of("k")

// line returns the backlog of the rig's engine, with these messages in it, all of one
// order key. In strict mode those after the first are blocked.
func (r *rig) line(names ...string) *Line {
	r.Helper()
	t, err := r.Store.Begin(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	for i, key := range names {
		task := r.task(key + "@k")
		entry := inbox.Entry{ID: task.ID(), State: inbox.Waiting, Fingerprint: task.Delivery.Fingerprint}
		if _, err := r.Store.Inbox().Record(r.Context(), t, entry); err != nil {
			r.Fatal(err)
		}
		item := r.e.item(task)
		item.Blocked = r.h.Strict && i > 0
		if err := r.Store.Backlog().Put(r.Context(), t, []backlog.Item{item}); err != nil {
			r.Fatal(err)
		}
	}
	if err := r.Store.Commit(r.Context(), t, nil); err != nil {
		r.Fatal(err)
	}
	return NewLine(r.soft, "c", r.spy, map[string]*Engine{"h": r.e}, r.o)
}

// work drains the shard until a visit brings nothing.
func (r *rig) work(l *Line) {
	r.Helper()
	for range 100 {
		result, err := l.Work(r.soft, theShard, 0)
		if err != nil {
			r.Fatal(err)
		}
		if result.Rows == 0 {
			return
		}
	}
	r.Fatal("the shard is never empty")
}

func (r *rig) depth() string {
	r.Helper()
	d, err := r.Store.Backlog().Depth(r.Context(), "c")
	if err != nil {
		r.Fatal(err)
	}
	return fmt.Sprintf("%d ready, %d delayed, %d blocked", d.Ready, d.Delayed, d.Blocked)
}

// Drain: the shard is locked, then read; waiting to done comes before the handler,
// and the rows go with the commit.
func TestLineTransitionComesFirst(t *testing.T) {
	var r *rig
	r = newRig(t, func(context.Context, *headrace.Tx, string) error {
		want(t, "transitions before the handler", len(r.calls("transition waiting done")), 1)
		want(t, "deletions before the handler", len(r.calls("delete")), 0)
		return nil
	})
	l := r.line("a", "b")
	result, err := l.Work(t.Context(), theShard, 0)
	if err != nil || result.Rows != 2 || result.Mark == 0 || result.More {
		t.Errorf("%+v, %v", result, err)
	}
	want(t, "states", r.state("a")+r.state("b"), "donedone")
	want(t, "depth", r.depth(), "0 ready, 0 delayed, 0 blocked")
	want(t, "told", r.hooks("drained applied"), 2)
	want(t, "idle", r.calls("shard")[0], "shard "+(time.Minute+6*time.Second).String())
}

// Drain: a row whose message somebody else finished is dropped unseen; a strict one
// lets the next of its key come forward.
func TestLineDropsWhatIsFinished(t *testing.T) {
	for _, strict := range []bool{false, true} {
		var s script
		r := newRig(t, s.run, func(r *rig) { r.h.Strict = strict })
		l := r.line("gone", "next")
		r.finish("gone")
		r.work(l)
		want(t, "runs", s.order(), "next")
		want(t, "depth", r.depth(), "0 ready, 0 delayed, 0 blocked")
	}
}

func (r *rig) finish(key string) {
	r.Helper()
	t, err := r.Store.Begin(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.Store.Inbox().Transition(r.Context(), t, []inbox.ID{r.task(key).ID()}, inbox.Waiting, inbox.Discarded); err != nil {
		r.Fatal(err)
	}
	if err := r.Store.Commit(r.Context(), t, nil); err != nil {
		r.Fatal(err)
	}
}

// Drain: a SAVEPOINT keeps the shard when a handler fails, and the verdict is in the
// same transaction; its effects and those of its neighbours are gone with it.
func TestLineVerdictInTheSameTransaction(t *testing.T) {
	s := script{errs: map[string][]error{"b": {errBoom}}}
	r := newRig(t, s.run)
	l := r.line("a", "b", "c")
	result, err := l.Work(t.Context(), theShard, 0)
	if err != nil || result.Rows != 1 || !result.More {
		t.Errorf("%+v, %v", result, err)
	}
	want(t, "transactions", len(r.calls("begin")), 1)
	want(t, "states", r.state("a")+r.state("b"), "waitingwaiting")
	want(t, "attempts", r.attempts("a")*10+r.attempts("b"), 1)
	want(t, "depth", r.depth(), "2 ready, 1 delayed, 0 blocked")
	want(t, "rescheduled", strings.HasSuffix(r.calls("reschedule")[0], "attempt 2"), true)
	r.work(l)
	want(t, "runs", s.order(), "a b a c")
	want(t, "told", r.hooks("drained waiting")*10+r.hooks("drained applied"), 12)
}

// Drain: each kind of verdict on a row, in the transaction of its failure.
func TestLineVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		errs  []error
		depth string
		state inbox.State
		told  string
	}{
		"now":       {[]error{errBoom}, "0 ready, 0 delayed, 0 blocked", inbox.Done, "drained applied"},
		"later":     {[]error{retry.After(time.Hour, errBoom)}, "0 ready, 1 delayed, 0 blocked", inbox.Waiting, "drained waiting"},
		"permanent": {[]error{retry.Permanent(errBoom)}, "0 ready, 0 delayed, 0 blocked", inbox.Dead, "drained dead"},
		"stale":     {[]error{inbox.ErrStale}, "0 ready, 0 delayed, 0 blocked", inbox.Done, "drained stale"},
	} {
		t.Run(name, func(t *testing.T) {
			s := script{errs: map[string][]error{"m": c.errs}}
			r := newRig(t, s.run)
			r.h.Policy.Immediate = 1
			r.work(r.line("m"))
			want(t, "depth", r.depth(), c.depth)
			want(t, "state", r.state("m"), c.state)
			want(t, "told", r.hooks(c.told), 1)
			want(t, "told in all", r.hooks("drained"), 1)
			rows, err := r.Store.Inbox().Find(t.Context(), "m")
			want(t, "stale", err == nil && rows[0].Stale, name == "stale")
			want(t, "woken", r.hooks("wake"), map[bool]int{true: 1}[name == "permanent"])
		})
	}
}

// Order: a strict row that ends lets the next of its key come forward, however it
// ends, and only then.
func TestLineReleasesTheNextOfItsKey(t *testing.T) {
	for name, err := range map[string]error{"applied": nil, "dead": retry.Permanent(errBoom), "stale": inbox.ErrStale, "later": retry.After(time.Hour, errBoom)} {
		t.Run(name, func(t *testing.T) {
			s := script{errs: map[string][]error{"a1": {err}}}
			r := newRig(t, s.run, strictly)
			r.work(r.line("a1", "a2"))
			if name == "later" {
				want(t, "runs", s.order(), "a1")
				want(t, "depth", r.depth(), "0 ready, 1 delayed, 1 blocked")
				return
			}
			want(t, "runs", s.order(), "a1 a2")
			want(t, "locks", len(r.calls("lock")) >= 2, true)
			if calls := verbs(r.calls("lock", "transition")); calls[0] != "lock" {
				t.Errorf("the transition came before the lock: %v", calls)
			}
		})
	}
}

// Drain: where the connection went with the failure, the verdict comes afterwards in
// a transaction of its own; before that come the free runs.
func TestLineLostConnection(t *testing.T) {
	s := script{errs: map[string][]error{"m": {errLost, errLost, errLost}}}
	r := newRig(t, s.run)
	l := r.line("m", "n")
	r.work(l)
	want(t, "attempts", r.attempts("m")*10+r.attempts("n"), 10)
	want(t, "depth", r.depth(), "0 ready, 1 delayed, 0 blocked")
	want(t, "state", r.state("n"), inbox.Done)
	want(t, "told", r.hooks("drained waiting")*10+r.hooks("drained applied"), 11)
}

// An outage, however often, spends no attempt and no free run.
func TestLineOutageSpendsNothing(t *testing.T) {
	s := script{errs: map[string][]error{"m": {errLost, errLost, errLost, errLost, errLost}}}
	r := newRig(t, s.run)
	l := r.line("m")
	r.fail = times(4, "ping", errLost)
	for range 4 {
		if _, err := l.Work(t.Context(), theShard, 0); !errors.Is(err, errLost) {
			t.Errorf("an outage is reported: %v", err)
		}
	}
	r.work(l)
	want(t, "attempts", r.attempts("m"), 0)
	want(t, "state", r.state("m"), inbox.Done)
}

// The connection of a failed row goes back before the store is pinged: a pool of one
// would never answer.
func TestLinePingsWithoutItsConnection(t *testing.T) {
	for name, fail := range map[string]func(string) error{
		"handler": nil,
		"delete":  times(3, "delete", errLost),
	} {
		t.Run(name, func(t *testing.T) {
			s := script{errs: map[string][]error{"m": {errLost, errLost, errLost}}}
			if fail != nil {
				s.errs = nil
			}
			r := newRig(t, s.run)
			pool := &poolOfOne{Store: r.spy.Store}
			r.fail = fail
			l := r.line("m")
			r.spy.Store = pool
			r.work(l)
			want(t, "attempts", r.attempts("m"), 1)
		})
	}
}

// poolOfOne is a store whose ping needs the connection of its one transaction.
type poolOfOne struct {
	Store
	open *txn.Txn
}

func (p *poolOfOne) Begin(ctx context.Context) (*txn.Txn, error) {
	t, err := p.Store.Begin(ctx)
	p.open = t
	return t, err
}

func (p *poolOfOne) Ping(ctx context.Context) error {
	if p.open != nil && p.open.Savepoint(ctx) == nil {
		return context.DeadlineExceeded
	}
	return nil
}

// COMMIT: a refused one of a batch is of nobody known; alone, it is an attempt. An
// unknown one is claimed again. Each kind of failure at the end of a batch.
func TestLineCommitFailures(t *testing.T) {
	for _, c := range []struct {
		name     string
		fail     func(string) error
		after    func(string) error
		runs     int
		attempts int
	}{
		{"refused", times(1, "commit", txn.ErrRolledBack), nil, 4, 0},
		{"refused alone", times(2, "commit", txn.ErrRolledBack), nil, 4, 1},
		{"aborted", times(1, "delete", aborted), nil, 4, 0},
		{"aborted alone", times(2, "delete", aborted), nil, 4, 1},
		{"connection", times(1, "commit", errLost), nil, 4, 0},
		{"unknown, not happened", times(1, "commit", errors.Join(txn.ErrCommitUnknown, errLost)), nil, 4, 0},
		{"unknown, happened", nil, times(1, "commit", errors.Join(txn.ErrCommitUnknown, errLost)), 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s script
			r := newRig(t, s.run)
			l := r.line("a", "b")
			r.fail, r.after = c.fail, c.after
			r.work(l)
			want(t, "runs", len(s.runs), c.runs)
			want(t, "attempts", r.attempts("a")+r.attempts("b"), c.attempts)
			want(t, "depth", r.depth(), fmt.Sprintf("0 ready, %d delayed, 0 blocked", c.attempts))
		})
	}
}

// A switched transaction stops the consumer here as well.
func TestLineSwitchedIsFatal(t *testing.T) {
	r := newRig(t, fine)
	l := r.line("m")
	r.fail = times(1, "commit", inbox.ErrSwitched)
	if _, err := l.Work(t.Context(), theShard, 0); !errors.Is(err, inbox.ErrSwitched) || r.fatal == nil {
		t.Errorf("%v, fatal %v", err, r.fatal)
	}
}

// Deadlocks of a handler are run again singly, and then count. Those of our own
// statements, and keys held elsewhere, leave the shard alone for a while.
func TestLineDeadlocks(t *testing.T) {
	s := script{errs: map[string][]error{"m": {deadlock, deadlock, deadlock}}}
	r := newRig(t, s.run)
	l := r.line("m")
	r.work(l)
	want(t, "runs", len(s.runs), 1+maxReruns)
	want(t, "attempts", r.attempts("m"), 1)

	for _, err := range []error{deadlock, timedOut, context.DeadlineExceeded} {
		r = newRig(t, fine, strictly, func(r *rig) { r.o.Patience = 100 * time.Millisecond })
		l = r.line("a1")
		r.fail = times(1, "lock", err)
		if err == context.DeadlineExceeded {
			r.fail = r.outwaits(1, "lock")
		}
		result, err := l.Work(t.Context(), theShard, 0)
		if err != nil || !result.Skipped {
			t.Errorf("%+v, %v", result, err)
		}
		r.work(l)
		want(t, "state", r.state("a1"), inbox.Done)
	}
}

// The verdict on a row that waits for a row held elsewhere, for longer than it may, is
// no outage either.
func TestLineVerdictHeldElsewhere(t *testing.T) {
	s := script{errs: map[string][]error{"m": {errLost, errLost, errLost, errLost}}}
	r := newRig(t, s.run, func(r *rig) { r.o.Patience = 100 * time.Millisecond })
	l := r.line("m")
	r.fail = r.outwaits(1, "attempt")
	for range 1 + maxReruns {
		if _, err := l.Work(t.Context(), theShard, 0); err != nil {
			t.Error(err)
		}
	}
	want(t, "attempts", r.attempts("m"), 0)
	r.work(l)
	want(t, "attempts", r.attempts("m"), 1)
}

// A row that found its transaction aborted by another row is not to blame.
func TestLineAbortedIsTheCulprits(t *testing.T) {
	s := script{errs: map[string][]error{"b": {aborted}}}
	r := newRig(t, s.run)
	r.work(r.line("a", "b"))
	want(t, "attempts", r.attempts("b"), 0)
	want(t, "runs", s.order(), "a b a b")
}

// Cancelled is not failed: after the drain time a row goes back as it was.
func TestLineCancelled(t *testing.T) {
	var r *rig
	r = newRig(t, func(ctx context.Context, _ *headrace.Tx, _ string) error {
		r.stop()
		r.cut()
		<-ctx.Done()
		return sqlState("57014")
	})
	l := r.line("m")
	if result, err := l.Work(t.Context(), theShard, 0); err != nil || result.Rows != 0 {
		t.Errorf("%+v, %v", result, err)
	}
	want(t, "attempts", r.attempts("m"), 0)
	want(t, "state", r.state("m"), inbox.Waiting)
}

// What had begun when the consumer was told to stop is finished.
func TestLineFinishesWhatItBegan(t *testing.T) {
	var r *rig
	r = newRig(t, func(context.Context, *headrace.Tx, string) error { r.stop(); return nil })
	l := r.line("m")
	if result, err := l.Work(r.soft, theShard, 0); err != nil || result.Rows != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	want(t, "state", r.state("m"), inbox.Done)
}

// A handler that is left behind takes its connection along; the verdict comes
// afterwards. In a batch nobody knows whose it was.
func TestLineLeftBehind(t *testing.T) {
	goOn := make(chan struct{})
	r := newRig(t, func(context.Context, *headrace.Tx, string) error { <-goOn; return nil })
	r.h.Timeout, r.o.Grace = 5*time.Millisecond, 5*time.Millisecond
	l := r.line("m")
	result, err := l.Work(t.Context(), theShard, 0)
	if err != nil || result.Rows != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	want(t, "attempt", strings.Join(r.calls("attempt"), ";"), "attempt m timeout")
	close(goOn)
}

// Rows of another handler, or beyond what a transaction should hold, wait for the next.
func TestLineBatches(t *testing.T) {
	var s script
	r := newRig(t, s.run, alone)
	l := r.line("a", "b", "c")
	result, err := l.Work(t.Context(), theShard, 0)
	if err != nil || result.Rows != 1 || !result.More {
		t.Errorf("alone: %+v, %v", result, err)
	}
	second := *r.h
	second.Name, second.Scope = "second", "c/second"
	other := NewEngine(r.soft, r.hard, r.spy, &second, r.o)
	r.h.Alone = false
	l = NewLine(r.soft, "c", r.spy, map[string]*Engine{"second": other}, r.o)
	unknown := ""
	l.Unknown = func(name string) { unknown = name }
	result, err = l.Work(t.Context(), theShard, 0)
	if err != nil || result.Rows != 1 || !result.More || unknown != "h" {
		t.Errorf("of an unknown handler: %+v, %v, %q", result, err, unknown)
	}
	want(t, "depth", r.depth(), "1 ready, 1 delayed, 0 blocked")
	want(t, "runs", s.order(), "a")
}

// A codec that panics, and bytes that it does not read any more, end as letters.
func TestLineUndecodable(t *testing.T) {
	for name, decode := range map[string]func(*headrace.Delivery) (any, error){
		"error": func(*headrace.Delivery) (any, error) { return nil, errBoom },
		"panic": func(*headrace.Delivery) (any, error) { panic("codec") },
	} {
		t.Run(name, func(t *testing.T) {
			var s script
			r := newRig(t, s.run)
			r.h.Decode = decode
			r.work(r.line("m"))
			want(t, "letters", r.letters("m"), "undecodable")
			want(t, "state", r.state("m"), inbox.Dead)
			want(t, "depth", r.depth(), "0 ready, 0 delayed, 0 blocked")
			want(t, "runs", s.order(), "")
		})
	}
}

// Poll writes only where rows have become due, and looks again.
func TestLinePoll(t *testing.T) {
	r := newRig(t, fine)
	l := r.line("m")
	polled, err := l.Poll(t.Context(), make([]int64, backlog.Shards))
	if err != nil || len(polled.Shards) != 1 || len(r.calls("begin")) != 0 {
		t.Errorf("%+v, %v", polled, err)
	}
	s := script{errs: map[string][]error{"n": {retry.After(time.Millisecond, errBoom)}}}
	r = newRig(t, s.run)
	l = r.line()
	r.process("n@k")
	for deadline := time.Now().Add(10 * time.Second); ; {
		polled, err := l.Poll(t.Context(), make([]int64, backlog.Shards))
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%+v, %v", polled, err)
		}
		if len(polled.Shards) == 1 {
			break
		}
	}
	r.work(l)
	want(t, "state", r.state("n"), inbox.Done)
}
