package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an engine on a real store (SQLite) that notes what it is asked and fails on
// command. Tests call the engine's parts themselves, so that nothing depends on
// who is faster.
type rig struct {
	*testing.T
	*spy
	h          *Handler
	o          *Options
	e          *Engine
	stop, cut  context.CancelFunc
	soft, hard context.Context

	seen  sync.Mutex
	ends  []string // "key outcome", in the order of settling
	told  []string // what Options' hooks were told
	fatal error
}

// spy decorates a store.
type spy struct {
	Store
	mu  sync.Mutex
	log []string
	// fail is asked before each call; its error is returned in place of the call.
	fail func(call string) error
	// after is asked after each call that succeeded.
	after func(call string) error
	// busy keys are held by somebody else for so many claims.
	busy map[string]int
}

func (s *spy) call(do func() error, words ...any) error {
	call := strings.TrimSuffix(fmt.Sprintln(words...), "\n")
	s.mu.Lock()
	s.log = append(s.log, call)
	fail, after := s.fail, s.after
	s.mu.Unlock()
	if fail != nil {
		if err := fail(call); err != nil {
			return err
		}
	}
	err := do()
	if err == nil && after != nil {
		err = after(call)
	}
	return err
}

// calls returns the calls so far that begin with one of the prefixes.
func (s *spy) calls(prefixes ...string) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.log {
		if len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(call, p) }) {
			list = append(list, call)
		}
	}
	return list
}

func (s *spy) Begin(ctx context.Context) (t *txn.Txn, err error) {
	err = s.call(func() error { t, err = s.Store.Begin(ctx); return err }, "begin")
	return t, err
}

func (s *spy) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	err := s.call(func() error { return s.Store.Commit(ctx, t, events) }, "commit", len(events))
	t.Rollback() // it has ended in every case
	return err
}

func (s *spy) Ping(ctx context.Context) error {
	return s.call(func() error { return s.Store.Ping(ctx) }, "ping")
}

func (s *spy) Inbox() inbox.Store { return spyInbox{s.Store.Inbox(), s} }
func (s *spy) Backlog() backlog.Tables {
	b := s.Store.Backlog()
	return backlog.Tables{Store: spyBacklog{b.Store, s}, Order: spyOrder{b.Order, s}, Leases: spyLeases{b.Leases, s}, Signals: b.Signals}
}
func (s *spy) Letters() dlq.Store { return spyLetters{s.Store.Letters(), s} }

type spyInbox struct {
	inbox.Store
	s *spy
}

func (i spyInbox) Claim(ctx context.Context, t *txn.Txn, r inbox.ClaimRequest) ([]inbox.Claimed, error) {
	var keys []string
	var at []int // the index of each claim that is asked for
	free := r
	free.Claims = nil
	for n, c := range r.Claims {
		keys = append(keys, c.Key)
		if i.s.busy[c.Key]--; i.s.busy[c.Key] < 0 {
			free.Claims, at = append(free.Claims, c), append(at, n)
		}
	}
	answers := make([]inbox.Claimed, len(r.Claims))
	for n := range answers {
		answers[n].Result = inbox.Busy
	}
	err := i.s.call(func() error {
		some, err := i.Store.Claim(ctx, t, free)
		for n, c := range some {
			answers[at[n]] = c
		}
		return err
	}, "claim", strings.Join(keys, ","), "unguarded", r.Unguarded, "lock", r.LockTimeout, "idle", r.IdleTimeout)
	return answers, err
}

func (i spyInbox) Record(ctx context.Context, t *txn.Txn, e inbox.Entry) (took bool, err error) {
	err = i.s.call(func() error { took, err = i.Store.Record(ctx, t, e); return err }, "record", e.Key, e.State)
	return took, err
}

func (i spyInbox) AddAttempt(ctx context.Context, t *txn.Txn, a inbox.Attempt) (n int, err error) {
	err = i.s.call(func() error { n, err = i.Store.AddAttempt(ctx, t, a); return err }, "attempt", a.Key, a.Class)
	return n, err
}

func (i spyInbox) Transition(ctx context.Context, t *txn.Txn, ids []inbox.ID, from, to inbox.State) (moved []inbox.ID, err error) {
	err = i.s.call(func() error { moved, err = i.Store.Transition(ctx, t, ids, from, to); return err }, "transition", from, to)
	return moved, err
}

type spyBacklog struct {
	backlog.Store
	s *spy
}

func (b spyBacklog) Put(ctx context.Context, t *txn.Txn, items []backlog.Item) error {
	return b.s.call(func() error { return b.Store.Put(ctx, t, items) }, "put", items[0].Delivery.Key, "blocked", items[0].Blocked, "attempt", items[0].Delivery.Attempt)
}

func (b spyBacklog) Delete(ctx context.Context, t *txn.Txn, rows []int64) error {
	return b.s.call(func() error { return b.Store.Delete(ctx, t, rows) }, "delete", len(rows))
}

func (b spyBacklog) LockShard(ctx context.Context, t *txn.Txn, consumer string, shard int, idle time.Duration) (ok bool, err error) {
	err = b.s.call(func() error { ok, err = b.Store.LockShard(ctx, t, consumer, shard, idle); return err }, "shard", idle)
	return ok && err == nil, err
}

func (b spyBacklog) Reschedule(ctx context.Context, t *txn.Txn, row int64, delay time.Duration, attempts int) error {
	return b.s.call(func() error { return b.Store.Reschedule(ctx, t, row, delay, attempts) }, "reschedule", delay, "attempt", attempts)
}

type spyOrder struct {
	backlog.Order
	s *spy
}

func (o spyOrder) Lock(ctx context.Context, t *txn.Txn, keys []backlog.OrderKey) error {
	return o.s.call(func() error { return o.Order.Lock(ctx, t, keys) }, "lock", len(keys))
}

func (o spyOrder) Waiting(ctx context.Context, t *txn.Txn, keys []backlog.OrderKey) (list []backlog.OrderKey, err error) {
	err = o.s.call(func() error { list, err = o.Order.Waiting(ctx, t, keys); return err }, "waiting")
	return list, err
}

func (o spyOrder) Release(ctx context.Context, t *txn.Txn, key backlog.OrderKey) error {
	return o.s.call(func() error { return o.Order.Release(ctx, t, key) }, "release", key.Key)
}

type spyLetters struct {
	dlq.Store
	s *spy
}

func (l spyLetters) Insert(ctx context.Context, t *txn.Txn, letter dlq.Letter) (id int64, written bool, err error) {
	err = l.s.call(func() error { id, written, err = l.Store.Insert(ctx, t, letter); return err }, "letter", letter.Delivery.Key, letter.Class)
	return id, written, err
}

// newRig returns a rig whose handler runs run for each task; change alters handler
// and options before the engine is made.
func newRig(t *testing.T, run func(ctx context.Context, tx *headrace.Tx, key string) error, change ...func(*rig)) *rig {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "group.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	r := &rig{T: t, spy: &spy{Store: st, busy: make(map[string]int)}}
	r.h = &Handler{
		Consumer: "c", Name: "h", Topic: "t", Scope: "c/h", Timeout: time.Minute,
		Policy: retry.Policy{MaxAttempts: 5}.WithDefaults(),
		Decode: func(d *headrace.Delivery) (any, error) { return string(d.Payload), nil },
		Run: func(ctx context.Context, tx *headrace.Tx, inputs []Input) error {
			return run(ctx, tx, inputs[0].Delivery.Key)
		},
	}
	tell := func(what string) { r.seen.Lock(); r.told = append(r.told, what); r.seen.Unlock() }
	r.o = &Options{
		Gate: NewGate(func(err error) { tell(fmt.Sprint("gate ", err == nil)) }), Inflight: NewInflight(),
		MaxBatch: 64, BatchTime: time.Hour, Patience: time.Minute, Grace: time.Second, LockTimeout: 200 * time.Millisecond,
		DeadTopic: func(topic string) string { return topic + ".dead" },
		Wake:      func() { tell("wake") },
		Failed: func(_ *Handler, task *Task, _ dlq.Failure, class string, _ time.Duration, o Outcome, again bool) {
			tell(fmt.Sprint("failed ", task.Delivery.Key, " ", class, " ", o, " ", again))
		},
		Drained:  func(_ *Handler, o Outcome) { tell("drained " + o.String()) },
		Stuck:    func(*Handler, int) { tell("stuck") },
		Returned: func(*Handler, int) { tell("returned") },
		Fatal:    func(err error) { r.fatal = err; r.stop() },
		Handlers: new(sync.WaitGroup),
	}
	r.soft, r.stop = context.WithCancel(context.Background())
	r.hard, r.cut = context.WithCancel(context.Background())
	t.Cleanup(func() { r.stop(); r.cut(); r.o.Handlers.Wait() })
	for _, f := range change {
		f(r)
	}
	r.e = NewEngine(r.soft, r.hard, r.spy, r.h, r.o)
	return r
}

func strictly(r *rig) { r.h.Strict = true }
func alone(r *rig)    { r.h.Alone = true }

// task returns a delivery, "key" or "key@order key", that notes how it is settled.
func (r *rig) task(name string) *Task {
	key, order, _ := strings.Cut(name, "@")
	t := &Task{Body: "body", Context: context.Background(), Delivery: headrace.Delivery{
		Scope: "c/h", Key: key, ID: key, Fingerprint: "f-" + key, OrderKey: order, Topic: "t",
		Payload: []byte("body"), Metadata: map[string]string{}, Attempt: 1,
	}}
	t.Settle = func(o Outcome) {
		r.seen.Lock()
		r.ends = append(r.ends, key+" "+o.String())
		r.seen.Unlock()
	}
	return t
}

func (r *rig) tasks(names ...string) (list []*Task) {
	for _, name := range names {
		list = append(list, r.task(name))
	}
	return list
}

// process runs the tasks until none is to be run again, and returns how each ended.
func (r *rig) process(names ...string) string {
	r.Helper()
	again := r.tasks(names...)
	for range 100 {
		if again = r.e.process(again); len(again) == 0 {
			return r.ended()
		}
	}
	r.Fatalf("still to be run again: %s", keysOf(again))
	return ""
}

func (r *rig) ended() string {
	r.seen.Lock()
	defer r.seen.Unlock()
	return strings.Join(r.ends, ", ")
}

func (r *rig) hooks(prefix string) (n int) {
	r.seen.Lock()
	defer r.seen.Unlock()
	for _, what := range r.told {
		if strings.HasPrefix(what, prefix) {
			n++
		}
	}
	return n
}

func keysOf(tasks []*Task) string {
	var keys []string
	for _, t := range tasks {
		keys = append(keys, t.Delivery.Key)
	}
	return strings.Join(keys, ",")
}

// state returns the inbox state of a key, "" if there is no row.
func (r *rig) state(key string) inbox.State {
	r.Helper()
	rows, err := r.Store.Inbox().Find(r.Context(), key)
	if err != nil {
		r.Fatal(err)
	}
	if len(rows) == 0 {
		return ""
	}
	return rows[0].State
}

func (r *rig) attempts(key string) int {
	r.Helper()
	list, err := r.Store.Inbox().Attempts(r.Context(), inbox.ID{Scope: "c/h", Key: key})
	if err != nil {
		r.Fatal(err)
	}
	return len(list)
}

// outwaits makes the first n calls that begin with prefix last until their context has
// ended.
func (r *rig) outwaits(n int, prefix string) func(string) error {
	return func(call string) error {
		if n > 0 && strings.HasPrefix(call, prefix) {
			n--
			time.Sleep(2 * r.o.Patience)
			return context.DeadlineExceeded
		}
		return nil
	}
}

// times fails the first n calls that begin with prefix.
func times(n int, prefix string, err error) func(string) error {
	return func(call string) error {
		if n > 0 && strings.HasPrefix(call, prefix) {
			n--
			return err
		}
		return nil
	}
}

// state is an error with an SQLState.
type sqlState string

func (s sqlState) Error() string    { return "state " + string(s) }
func (s sqlState) SQLState() string { return string(s) }

const (
	deadlock = sqlState("40P01")
	timedOut = sqlState("55P03")
	aborted  = sqlState("25P02")
)

var (
	errBoom = errors.New("boom")
	errLost = fmt.Errorf("no connection: %w", io.ErrUnexpectedEOF)
)

// fine is a handler that does nothing.
func fine(context.Context, *headrace.Tx, string) error { return nil }

// want compares what a test got.
func want[T comparable](t testing.TB, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}
