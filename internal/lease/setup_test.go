package lease_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/crashguard"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/lease"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// term is long enough that a busy machine extends in time.
const term = 3 * time.Second

// worked is a leased handler with two slots; nil effects insert the message.
func worked(work func(ctx context.Context, in task.Input) (headrace.Effects, error)) *task.Handler {
	h := enginetest.Handler("slow", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
		return in.Effects(ctx, tx)
	})
	h.Intake = true
	h.Leased = &task.Leased{Slots: 2, Term: term, Timeout: time.Minute, Work: func(ctx context.Context, in task.Input) (headrace.Effects, error) {
		effects, err := work(ctx, in)
		if effects == nil {
			effects = func(ctx context.Context, tx *headrace.Tx) error { return enginetest.Effect(ctx, tx, in) }
		}
		return effects, err
	}}
	return h
}

// started are the messages whose work began, in order, as a test receives them.
type started chan string

// await returns the next message that began.
func (s started) await(f *enginetest.Fixture) string {
	f.Helper()
	select {
	case key := <-s:
		return key
	case <-time.After(enginetest.Bound):
		f.Fatal("no work began")
		return ""
	}
}

// process is an engine with a worker of a leased handler.
type process struct {
	*enginetest.Engine
	*lease.Worker
	h     *task.Handler
	store *recordingStore
	ended sync.WaitGroup
}

// recordingStore is a store whose leases are watched.
type recordingStore struct {
	*enginetest.Store
	// extends counts what was extended; frozen has it fail.
	extends atomic.Int64
	frozen  atomic.Bool
	// beforeFence is called before the next fence, afterFence after it.
	beforeFence, afterFence atomic.Pointer[func()]
}

func (s *recordingStore) Backlog() backlog.Tables {
	tables := s.Store.Backlog()
	tables.Leases = recordingLeases{tables.Leases, s}
	return tables
}

type recordingLeases struct {
	backlog.Leases
	s *recordingStore
}

func (l recordingLeases) Extend(ctx context.Context, t *txn.Txn, leases []backlog.Lease, term time.Duration) (extended, locked []backlog.Lease, err error) {
	if l.s.frozen.Load() {
		return nil, nil, enginetest.ErrLost
	}
	extended, locked, err = l.Leases.Extend(ctx, t, leases, term)
	l.s.extends.Add(int64(len(extended)))
	return extended, locked, err
}

func (l recordingLeases) Look(ctx context.Context, consumer, handler string) (bool, time.Duration, error) {
	if l.s.Down.Load() {
		return false, 0, enginetest.ErrLost
	}
	return l.Leases.Look(ctx, consumer, handler)
}

func (l recordingLeases) Fence(ctx context.Context, t *txn.Txn, lease backlog.Lease, limits txn.Limits) (bool, error) {
	if f := l.s.beforeFence.Swap(nil); f != nil {
		(*f)()
	}
	if f := l.s.afterFence.Swap(nil); f != nil {
		defer (*f)()
	}
	return l.Leases.Fence(ctx, t, lease, limits)
}

// newProcess puts messages into the backlog, where they wait to be leased.
func newProcess(f *enginetest.Fixture, h *task.Handler, keys ...string) *process {
	p := &process{h: h, store: &recordingStore{Store: f.Store}}
	p.Engine = f.Engine(func(o *batch.Options) { o.Store = p.store })
	p.Put(h, keys...)
	p.WorkOff(p.Engine.Worker(h))
	return p
}

// run runs the worker until the end of the test.
func (p *process) run(change func(*lease.Options)) {
	o := &lease.Options{
		Processor: p.Processor, Guard: crashguard.NewProcess(), Paused: func() bool { return false },
		Stopping: p.Stopping, Cancelled: p.Cancelled,
		Steps: p.F.Store.Operations().Steps, Signals: p.F.Store.Operations().Signals, Suspect: p.F.Store.Operations().Suspect, Memos: p.F.Store.Operations().Memos, Wake: func() {}, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(o)
	}
	p.Worker = lease.New(p.h, o)
	p.ended.Go(p.Worker.Run)
	p.F.Cleanup(p.end)
}

// end ends it in order.
func (p *process) end() {
	p.Stop()
	p.ended.Wait()
}

// state waits until a message has this state.
func (p *process) state(key string, want inbox.State) {
	p.F.Helper()
	p.F.Eventually(key+" is "+string(want), func() bool { return p.F.State(p.h, key) == want })
}

// endLeases has the leases that are held end, as if a day had passed.
func endLeases(f *enginetest.Fixture) {
	f.Helper()
	day := "interval '1 day'"
	if f.SQLite {
		day = "86400000000"
	}
	f.Exec("UPDATE headrace_backlog SET due_at = due_at - " + day + " WHERE status = 'leased'")
}

// guard gives leases as a test says, and counts them.
type guard struct {
	mu   sync.Mutex
	hand int
	most int // at a time
	only bool
	asks int // for the only lease
}

func (g *guard) Lease(_ string, n int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n = max(0, min(n, g.most-g.hand))
	g.hand += n
	return n
}

func (g *guard) OnlyLease(string, int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asks++
	return g.only
}

func (g *guard) GiveBack(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hand -= n
}

func (g *guard) set(most int, only bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most, g.only = most, only
}

func (g *guard) state() (hand, asks int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hand, g.asks
}

func depth(f *enginetest.Fixture) backlog.Depth {
	f.Helper()
	d, err := f.Store.Backlog().Depth(f.Context(), enginetest.Consumer)
	if err != nil {
		f.Fatal(err)
	}
	d.Oldest = 0
	return d
}
