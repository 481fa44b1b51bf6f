package group

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

type spyLeases struct {
	backlog.Leases
	s *spy
}

func (l spyLeases) Claim(ctx context.Context, t *txn.Txn, consumer, handler, token string, term time.Duration, limit int) (items []backlog.Item, err error) {
	err = l.s.call(func() error {
		items, err = l.Leases.Claim(ctx, t, consumer, handler, token, term, limit)
		return err
	}, "lease", limit)
	return items, err
}

func (l spyLeases) Extend(ctx context.Context, t *txn.Txn, leases []backlog.Lease, term time.Duration) (extended, locked []backlog.Lease, err error) {
	err = l.s.call(func() error { extended, locked, err = l.Leases.Extend(ctx, t, leases, term); return err }, "extend", len(leases))
	return extended, locked, err
}

func (l spyLeases) Fence(ctx context.Context, t *txn.Txn, lease backlog.Lease, idle time.Duration) (ours bool, err error) {
	err = l.s.call(func() error { ours, err = l.Leases.Fence(ctx, t, lease, idle); return err }, "fence", lease.ID.Key)
	return ours && err == nil, err
}

func (l spyLeases) GiveBack(ctx context.Context, t *txn.Txn, leases []backlog.Lease) error {
	return l.s.call(func() error { return l.Leases.GiveBack(ctx, t, leases) }, "give back", len(leases))
}

// leasedRig is a rig whose handler is leased: work is done for each task, and effects
// are what it commits.
func leasedRig(t *testing.T, work func(ctx context.Context, key string) error, effects func(ctx context.Context, tx *headrace.Tx, key string) error, change ...func(*rig)) *rig {
	t.Helper()
	return newRig(t, nil, append([]func(*rig){func(r *rig) {
		r.h.Intake, r.h.Strict, r.h.Alone = true, true, true
		r.h.Leased = &Leased{Slots: 2, Term: time.Hour, Timeout: time.Minute, Work: func(ctx context.Context, in Input) (headrace.Effects, error) {
			key := in.Delivery.Key
			if err := work(ctx, key); err != nil {
				return nil, err
			}
			return func(ctx context.Context, tx *headrace.Tx) error { return effects(ctx, tx, key) }, nil
		}}
		r.h.Run = func(ctx context.Context, tx *headrace.Tx, inputs []Input) error { return inputs[0].Effects(ctx, tx) }
	}}, change...)...)
}

// offer puts messages onto the line of those that wait to be leased.
func (r *rig) offer(names ...string) {
	r.Helper()
	l := r.line(names...)
	if _, err := l.Work(r.soft, theShard, 0); err != nil {
		r.Fatal(err)
	}
}

// lease runs the leaser until n messages are in the state done or dead, and stops it.
func (r *rig) lease(until func() bool) {
	r.Helper()
	var wait sync.WaitGroup
	wait.Go(r.e.Lease)
	deadline := time.Now().Add(30 * time.Second)
	for !until() && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if !until() {
		r.Errorf("did not come: %v, %s", r.told, r.depth())
	}
	r.stop()
	wait.Wait()
}

func (r *rig) drained(outcome string, n int) func() bool {
	return func() bool { return r.hooks("drained "+outcome) >= n }
}

func idle(context.Context, string) error { return nil }

// DESIGN 3, leased mode: the fence is the first statement of the transaction that
// commits, and the message is marked done before its effects run.
func TestLeasedFenceIsFirst(t *testing.T) {
	var r *rig
	r = leasedRig(t, idle, func(context.Context, *headrace.Tx, string) error {
		r.call(func() error { return nil }, "effects")
		return nil
	})
	r.offer("a")
	r.lease(r.drained("applied", 1))
	calls := r.calls()
	at := slices.Index(calls, "fence a")
	if at < 1 || calls[at-1] != "begin" {
		t.Fatalf("calls %q", calls)
	}
	got := fmt.Sprint(calls[at:])
	want(t, "calls", got, "[fence a lock 1 waiting transition waiting done effects delete 1 release k commit 0]")
}

// A holder whose lease somebody took over runs no effects, although the message waits
// still: a plain read of the token let both commit.
func TestLeasedTakenOver(t *testing.T) {
	var r *rig
	ran := 0
	var taken sync.Once
	r = leasedRig(t, func(ctx context.Context, key string) error {
		taken.Do(func() { r.takeOver() })
		return nil
	}, func(context.Context, *headrace.Tx, string) error { ran++; return nil })
	r.offer("a")
	r.lease(func() bool { return len(r.calls("fence")) > 0 && r.e.held() == 0 })
	want(t, "runs of the effects", ran, 0)
	want(t, "state", r.state("a"), inbox.Waiting)
	want(t, "attempts", r.attempts("a"), 0)
	want(t, "depth", r.leasedRows(), 1)
}

// So is its verdict on a failure.
func TestLeasedVerdictOfAnother(t *testing.T) {
	var r *rig
	r = leasedRig(t, func(ctx context.Context, key string) error { r.takeOver(); return errBoom }, nil)
	r.offer("a")
	r.lease(func() bool { return len(r.calls("fence")) > 0 && r.e.held() == 0 })
	want(t, "attempts", r.attempts("a"), 0)
	want(t, "depth", r.leasedRows(), 1)
}

// takeOver gives every lease to somebody else, as a claim after its end does.
func (r *rig) takeOver() {
	t, err := r.Store.Begin(context.Background())
	if err == nil {
		_, err = t.ExecContext(context.Background(), "UPDATE headrace_backlog SET token = 'another' WHERE line = 'leased'")
	}
	if err == nil {
		err = r.Store.Commit(context.Background(), t, nil)
	}
	if err != nil {
		r.Error(err)
	}
}

func (r *rig) leasedRows() int64 {
	r.Helper()
	d, err := r.Store.Backlog().Depth(r.Context(), "c")
	if err != nil {
		r.Fatal(err)
	}
	return d.Leased
}

func (r *rig) db() *sql.DB { return r.spy.Store.(interface{ DB() *sql.DB }).DB() }

// held is how many leases are in hand.
func (e *Engine) held() int {
	e.leaser.mu.Lock()
	defer e.leaser.mu.Unlock()
	return len(e.leaser.held)
}

// DESIGN 3, COMMIT: one without an answer, which happened or did not, is read again.
func TestLeasedCommitWithoutAnswer(t *testing.T) {
	for name, hook := range map[string]func(s *spy, f func(string) error){
		"it had not happened": func(s *spy, f func(string) error) { s.fail = f },
		"it had happened":     func(s *spy, f func(string) error) { s.after = f },
	} {
		t.Run(name, func(t *testing.T) {
			var worked int
			r := leasedRig(t, func(context.Context, string) error { worked++; return nil }, func(ctx context.Context, tx *headrace.Tx, _ string) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg) VALUES ('a')")
				return err
			})
			if _, err := r.db().Exec("CREATE TABLE effects (msg TEXT)"); err != nil {
				t.Fatal(err)
			}
			r.offer("a")
			fenced, failed := false, false
			hook(r.spy, func(call string) error {
				fenced = fenced || call == "fence a"
				if fenced && !failed && call == "commit 0" {
					failed = true
					return txn.ErrCommitUnknown
				}
				return nil
			})
			r.lease(r.drained("applied", 1))
			var n int
			if err := r.db().QueryRow("SELECT count(*) FROM effects").Scan(&n); err != nil || n != 1 {
				t.Errorf("%d effects, %v", n, err)
			}
			want(t, "runs of the work", worked, 1)
			want(t, "state", r.state("a"), inbox.Done)
			want(t, "attempts", r.attempts("a"), 0)
		})
	}
}

// Where the claim's COMMIT had no answer, what it may have leased is given back: nobody
// works on it.
func TestLeasedClaimWithoutAnswer(t *testing.T) {
	r := leasedRig(t, idle, fineEffects)
	r.offer("a")
	claimed, failed := false, false
	r.spy.after = func(call string) error {
		claimed = claimed || call == "lease 2"
		if claimed && !failed && call == "commit 0" {
			failed = true
			return txn.ErrCommitUnknown
		}
		return nil
	}
	r.lease(r.drained("applied", 1))
	want(t, "given back", len(r.calls("give back")), 1)
	want(t, "attempts", r.attempts("a"), 0)
}

func fineEffects(context.Context, *headrace.Tx, string) error { return nil }

// A deadlock of the effects costs nothing, and the work is not done again for it.
func TestLeasedDeadlock(t *testing.T) {
	worked, ran := 0, 0
	r := leasedRig(t, func(context.Context, string) error { worked++; return nil }, func(context.Context, *headrace.Tx, string) error {
		if ran++; ran == 1 {
			return deadlock
		}
		return nil
	})
	r.offer("a")
	r.lease(r.drained("applied", 1))
	want(t, "runs of the work", worked, 1)
	want(t, "attempts", r.attempts("a"), 0)
}

// A lost lease ends the work's context first, whether Extend says so or our own clock,
// where nothing could be extended.
func TestLeasedContextEndsWithTheLease(t *testing.T) {
	for name, lose := range map[string]func(r *rig){
		"taken over":         func(r *rig) { r.takeOver() },
		"extends are failed": func(r *rig) { r.spy.mu.Lock(); r.spy.fail = noExtend; r.spy.mu.Unlock() },
	} {
		t.Run(name, func(t *testing.T) {
			var r *rig
			var causes []error
			r = leasedRig(t, func(ctx context.Context, key string) error {
				if len(causes) > 0 {
					return nil
				}
				lose(r)
				start := time.Now()
				<-ctx.Done()
				if took := time.Since(start); r.spy.fail == nil && took > 2*r.h.Leased.Term/3 {
					t.Errorf("told by our own clock, after %s", took) // and not by Extend
				}
				causes = append(causes, context.Cause(ctx))
				return ctx.Err()
			}, fineEffects, func(r *rig) {
				r.h.Leased.Term = time.Second
				r.h.Policy = retry.Policy{MaxAttempts: 5, Immediate: 4}.WithDefaults()
			})
			r.offer("a")
			r.lease(r.drained("applied", 1))
			if len(causes) != 1 || !errors.Is(causes[0], ErrLeaseLost) {
				t.Errorf("causes %v", causes)
			}
		})
	}
}

func noExtend(call string) error {
	if strings.HasPrefix(call, "extend") {
		return errLost
	}
	return nil
}

// The heartbeat keeps a lease for as long as the work takes.
func TestLeasedHeartbeat(t *testing.T) {
	var r *rig
	r = leasedRig(t, func(ctx context.Context, key string) error {
		for len(r.calls("extend")) < 6 && ctx.Err() == nil { // two terms
			time.Sleep(time.Millisecond)
		}
		return ctx.Err()
	}, fineEffects, func(r *rig) { r.h.Leased.Term = 300 * time.Millisecond })
	r.offer("a")
	r.lease(r.drained("applied", 1))
	want(t, "claims", len(r.calls("lease")), 1)
	want(t, "attempts", r.attempts("a"), 0)
}

// Three lost leases and no fewer give a message up; each is an attempt.
func TestLeasedLost(t *testing.T) {
	for lost, outcome := range map[int]string{2: "applied", 3: "dead"} {
		r := leasedRig(t, idle, fineEffects, func(r *rig) { r.h.Policy = retry.Policy{MaxAttempts: 1}.WithDefaults() })
		r.offer("a")
		for range lost {
			if n, err := r.e.leaser.claimOnly(); err != nil || n != 1 {
				t.Fatal(n, err)
			}
		}
		r.lease(r.drained(outcome, 1))
		want(t, "attempts", r.attempts("a"), lost)
		want(t, "told of lost leases", r.hooks("failed a lost"), lost)
	}
}

// claimOnly claims for a term that is over at once, and leaves what it leased, as a
// process does that is killed.
func (l *leaser) claimOnly() (int, error) {
	term := l.o.Term
	defer func() { l.o.Term = term }()
	l.o.Term = time.Microsecond
	for {
		found, _, err := l.look()
		if err != nil {
			return 0, err
		}
		if found {
			break
		}
		time.Sleep(time.Millisecond)
	}
	t, err := l.e.begin()
	if err != nil {
		return 0, err
	}
	defer t.Rollback()
	items, err := l.e.st.Backlog().Leases.Claim(context.Background(), t, "c", "h", fmt.Sprint(time.Now()), l.o.Term, 1)
	if err != nil {
		return 0, err
	}
	tasks := []*Task{{Delivery: items[0].Delivery, item: &items[0], token: "x"}}
	rulings, err := l.e.judgeLost(context.Background(), t, tasks)
	if err != nil {
		return 0, err
	}
	if err := l.e.st.Commit(context.Background(), t, nil); err != nil {
		return 0, err
	}
	l.e.announce(rulings, nil)
	return len(items), nil
}

// While the consumer is held nothing is begun, and idle looks write nothing.
func TestLeasedHeld(t *testing.T) {
	asked := make(chan struct{}, 100)
	r := leasedRig(t, idle, fineEffects, func(r *rig) {
		r.o.Held = func() bool { asked <- struct{}{}; return true }
	})
	r.offer("a")
	r.lease(func() bool { return len(asked) > 2 })
	want(t, "claims", len(r.calls("lease")), 0)
	want(t, "state", r.state("a"), inbox.Waiting)
}
