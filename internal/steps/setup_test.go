package steps_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/plan"
	"github.com/headrace/headrace/internal/steps"
	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// invoice is a result.
type invoice struct{ ID string }

// system is another system, with its own log of what it has carried out.
type system struct {
	mu    sync.Mutex
	drops bool     // repetitions of a key
	keys  []string // of the calls, in order
	made  []string // what it has carried out: the keys
}

// create carries out a call, and returns what it made.
func (s *system) create(key string) invoice {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, key)
	for i, k := range s.made {
		if k == key && s.drops {
			return invoice{fmt.Sprint("inv_", i+1)}
		}
	}
	s.made = append(s.made, key)
	return invoice{fmt.Sprint("inv_", len(s.made))}
}

// find finds what was made under a key.
func (s *system) find(_ context.Context, c *ledger.Call) (invoice, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range s.made {
		if k == c.Key {
			id := fmt.Sprint("inv_", i+1)
			c.SetID(id)
			return invoice{id}, true, nil
		}
	}
	return invoice{}, false, nil
}

func (s *system) count() (calls, made int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys), len(s.made)
}

// process is a store of one process, which can be killed: it then does nothing more.
type process struct {
	*enginetest.Store
	die    context.CancelFunc
	killed atomic.Bool
	// killAfter is the commit after which it is killed; 0 is none.
	killAfter, commits atomic.Int64
}

func (p *process) kill() {
	p.killed.Store(true)
	p.die()
}

func (p *process) Begin(ctx context.Context) (*txn.Txn, error) {
	if p.killed.Load() {
		return nil, enginetest.ErrLost
	}
	return p.Store.Begin(ctx)
}

// commit is what a change of a step goes through.
func (p *process) commit(f func() (bool, error)) (bool, error) {
	if p.killed.Load() {
		return false, enginetest.ErrLost
	}
	changed, err := f()
	if n := p.commits.Add(1); n == p.killAfter.Load() {
		p.kill()
	}
	return changed, err
}

// bed is a leased message on which steps are done.
type bed struct {
	*enginetest.Fixture
	e     *enginetest.Engine
	h     *task.Handler
	one   *task.Task
	mu    sync.Mutex
	woken bool // people are told soon
	// systems limits the calls; may be nil.
	systems *systems.Systems
	// postponed is how long the message has been put off, sent its time.
	postponed time.Duration
	sent      time.Time
}

// onEachStoreOf is onEachStore in a subtest.
func onEachStoreOf(t *testing.T, name string, f func(*bed)) {
	t.Run(name, func(t *testing.T) { onEachStore(t, f) })
}

// statusRefused is the error of an answer with status 400.
func statusRefused() error {
	return ledger.HTTP(&http.Response{StatusCode: http.StatusBadRequest}, nil)
}

// onEachStore runs f with a leased message "m" on each database.
func onEachStore(t *testing.T, f func(*bed)) { enginetest.OnEachStore(t, leased(f)) }

// onEachDriver is onEachStore with lib/pq and with pgx.
func onEachDriver(t *testing.T, f func(*bed)) { enginetest.OnEachDriver(t, leased(f)) }

// leased runs f with a leased message "m".
func leased(f func(*bed)) func(*enginetest.Fixture) {
	return func(x *enginetest.Fixture) {
		b := &bed{Fixture: x, e: x.Engine(nil)}
		b.h = enginetest.Handler("orders", nil)
		b.h.Intake = true
		b.h.Leased = &task.Leased{Slots: 1, Term: time.Minute, Timeout: time.Minute}
		b.e.Put(b.h, "m")
		b.one = b.e.Lease(b.h, 1)[0]
		f(b)
	}
}

// begin begins a run of the message in a process of its own.
func (b *bed) begin(declared ...ledger.Declared) (*run, context.Context) {
	b.Helper()
	return b.beginOf(b.one, declared...)
}

// beginOf begins a run of a message.
func (b *bed) beginOf(one *task.Task, declared ...ledger.Declared) (*run, context.Context) {
	b.Helper()
	declares, err := plan.New(declared...)
	if err != nil {
		b.Fatal(err)
	}
	p := &process{Store: b.Store}
	ctx, die := context.WithCancel(b.Context())
	p.die = die
	b.Cleanup(die)
	o := &steps.Options{
		Store: p, Leases: b.Store.Backlog().Leases, Steps: enginetest.StepCommits{Store: b.Store.Operations().Steps, Around: p.commit},
		Signals: b.Store.Operations().Signals, Memos: memoCommits{b.Store.Operations().Memos, p.commit}, Suspect: b.Store.Operations().Suspect, Systems: b.systems, Runner: b.e.Runner, StoreTimeout: 10 * time.Second,
		Failed: func(error) time.Duration { return time.Millisecond }, Cancelled: ctx, Logger: slog.New(slog.DiscardHandler),
		Wake: func() { b.mu.Lock(); defer b.mu.Unlock(); b.woken = true },
	}
	s := steps.New(ctx, o, declares, steps.Message{ID: one.ID(), Lease: one.Lease(), Database: "db", Postponed: b.postponed, Sent: b.sent}, call{b.h})
	return &run{p, s, b}, ledger.With(ctx, s)
}

// memoCommits are the commits of shared results.
type memoCommits struct {
	ledger.Memos
	around func(f func() (bool, error)) (bool, error)
}

func (s memoCommits) Take(ctx context.Context, m ledger.Memo, term time.Duration) (state ledger.MemoState, left time.Duration, err error) {
	_, err = s.around(func() (bool, error) { state, left, err = s.Memos.Take(ctx, m, term); return true, err })
	return state, left, err
}

func (s memoCommits) Put(ctx context.Context, m ledger.Memo, result []byte, keep time.Duration) (recorded []byte, err error) {
	_, err = s.around(func() (bool, error) { recorded, err = s.Memos.Put(ctx, m, result, keep); return true, err })
	return recorded, err
}

func (s memoCommits) Release(ctx context.Context, m ledger.Memo) error {
	_, err := s.around(func() (bool, error) { return true, s.Memos.Release(ctx, m) })
	return err
}

// run is a run of the message.
type run struct {
	*process
	*steps.Session
	b *bed
}

// call names a run to the runner.
type call struct{ h *task.Handler }

func (c call) Of() (*task.Handler, int) { return c.h, 1 }
func (c call) Returned()                {}

// row is the row of a step.
func (b *bed) row(step string) ledger.Row { b.Helper(); return b.rowOf(b.one, step) }

// rowOf is the row of a step of a message.
func (b *bed) rowOf(one *task.Task, step string) ledger.Row {
	b.Helper()
	rows, err := b.Store.Operations().Steps.List(b.Context(), one.ID())
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range rows {
		if r.Step == step {
			return r
		}
	}
	return ledger.Row{}
}

func (b *bed) state(step string, want ledger.State) {
	b.Helper()
	if r := b.row(step); r.State != want {
		b.Errorf("step %s is %q (%s), not %q", step, r.State, r.Error, want)
	}
}

// pass has time go by for the steps.
func (b *bed) pass(d time.Duration) {
	b.Helper()
	us := b.Span(d)
	b.Exec("UPDATE headrace_steps SET first_call_at = first_call_at - " + us + ", last_call_at = last_call_at - " + us + ", settled_at = settled_at - " + us)
}

// takeOver gives the lease to another process.
func (b *bed) takeOver() {
	b.Helper()
	b.Exec("UPDATE headrace_backlog SET token = 'another'")
}

// told returns what people are told of: of steps that were carried out twice, or skipped.
func (b *bed) told() (of []ledger.State) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	counts, err := b.Store.Operations().StepAdmin.Count(b.Context(), "", 0)
	if err != nil {
		b.Error(err)
	}
	for _, kind := range []ledger.State{ledger.Doubled, ledger.SkippedNow} {
		if counts[kind] > 0 {
			of = append(of, kind)
		}
	}
	if b.woken != (len(of) > 0) {
		b.Errorf("woken: %t, for %v", b.woken, of)
	}
	return of
}

// parked reports whether err needs a person.
func parked(err error) bool {
	_, ok := errors.AsType[*ledger.ParkedError](err)
	return ok && ledger.NeedsPerson(err)
}
