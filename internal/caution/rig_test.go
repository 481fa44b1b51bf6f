package caution

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is an instance.Store in memory: a real one has no clock that a test can turn,
// and does not fail on command. What real ones do is tested by store/storetest.
type table struct {
	mu   sync.Mutex
	rows map[string]*instance.Instance
	log  []string
	// deaths and unsure are what Deaths says.
	deaths, unsure int
	// fail is asked before each call.
	fail func(ctx context.Context, call string) error
}

func (s *table) call(ctx context.Context, do func(), words ...string) error {
	call := strings.Join(words, " ")
	s.mu.Lock()
	fail := s.fail
	s.log = append(s.log, call)
	s.mu.Unlock()
	if fail != nil {
		if err := fail(ctx, call); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	return nil
}

func (s *table) row(ctx context.Context, id string, do func(*instance.Instance), words ...string) error {
	err := instance.ErrUnknown
	failed := s.call(ctx, func() {
		if row := s.rows[id]; row != nil {
			err = nil
			do(row)
		}
	}, words...)
	if failed != nil {
		return failed
	}
	return err
}

func (s *table) Start(ctx context.Context, i instance.Instance) error {
	return s.call(ctx, func() {
		i.Started, i.Beat = time.Now(), time.Now()
		s.rows[i.ID] = &i
	}, "start")
}

func (s *table) Beat(ctx context.Context, id string) error {
	return s.row(ctx, id, func(i *instance.Instance) { i.Beat, i.Outlived = time.Now(), false }, "beat")
}

func (s *table) End(ctx context.Context, id string) error {
	return s.row(ctx, id, func(i *instance.Instance) { i.Ended, i.Running = time.Now(), inbox.ID{} }, "end")
}

func (s *table) Run(ctx context.Context, id string, m inbox.ID) error {
	return s.row(ctx, id, func(i *instance.Instance) { i.Running, i.Beat = m, time.Now() }, "run", m.Key)
}

func (s *table) List(ctx context.Context, _ string) (list []instance.Instance, err error) {
	err = s.call(ctx, func() {
		for _, row := range s.rows {
			i := *row
			i.Age = time.Since(i.Beat)
			list = append(list, i)
		}
	}, "list")
	return list, err
}

func (s *table) Deaths(ctx context.Context, _, _ string, m inbox.ID, _ time.Duration) (deaths, unsure int, err error) {
	err = s.call(ctx, func() { deaths, unsure = s.deaths, s.unsure }, "deaths", m.Key)
	return deaths, unsure, err
}

func (s *table) Outlive(ctx context.Context, id string, missed time.Duration) error {
	return s.call(ctx, func() {
		for _, row := range s.rows {
			if row.ID != id && row.Ended.IsZero() && time.Since(row.Beat) > missed {
				row.Outlived = true
			}
		}
	}, "outlive")
}

func (s *table) Forget(ctx context.Context, _ time.Duration) error {
	return s.call(ctx, func() {}, "forget")
}

func (s *table) calls(prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.log {
		if strings.HasPrefix(call, prefix) {
			n++
		}
	}
	return n
}

// running is the key that the row of the rig's guard names.
func (r *rig) running() string {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	return r.table.rows["me"].Running.Key
}

func (s *table) failing(fail func(ctx context.Context, call string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

// failOn fails the calls that begin with prefix.
func failOn(prefix string, err error) func(context.Context, string) error {
	return func(_ context.Context, call string) error {
		if strings.HasPrefix(call, prefix) {
			return err
		}
		return nil
	}
}

// rig is a guard on a table, at the pace of real ones, in a bubble of its own.
type rig struct {
	*testing.T
	*table
	g    *Guard
	o    Options
	logs *lines
	stop context.CancelFunc
	done chan struct{}
}

type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// bubble runs f with a rig whose guard is not started.
func bubble(t *testing.T, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, table: &table{rows: make(map[string]*instance.Instance)}, logs: new(lines), done: make(chan struct{})}
		r.o = Options{
			Look: time.Second, Beat: 3 * time.Second, Missed: instance.Missed, Most: 10 * time.Minute,
			Logger: slog.New(slog.NewTextHandler(r.logs, nil)),
		}
		f(r)
		if r.stop != nil {
			r.stop()
			<-r.done
		}
	})
}

// start runs the guard until the bubble ends, and returns when it has nothing to do.
func (r *rig) start() {
	r.g = New(r.table, instance.Instance{ID: "me", Consumer: "c"}, r.o)
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { defer close(r.done); r.g.Run(ctx) }()
	synctest.Wait()
}

// other is an earlier instance that lived for lived, and whose last beat was ago.
func (r *rig) other(id string, lived, ago time.Duration) *instance.Instance {
	beat := time.Now().Add(-ago)
	i := &instance.Instance{ID: id, Consumer: "c", Started: beat.Add(-lived), Beat: beat}
	r.rows[id] = i
	return i
}

func m(key string) inbox.ID { return inbox.ID{Scope: "c/h", Key: key} }

// entered is what came of an Enter that was called on a goroutine of its own.
type entered struct {
	advice instance.Advice
	leave  func()
	err    error
}

// enter calls Enter for keys; the answer is there when nothing can happen any more,
// unless it waits.
func (r *rig) enter(ctx context.Context, keys ...string) chan entered {
	ids := make([]inbox.ID, len(keys))
	for i, key := range keys {
		ids[i] = m(key)
	}
	answer := make(chan entered, 1)
	go func() {
		var e entered
		e.advice, e.leave, e.err = r.g.Enter(ctx, ids)
		answer <- e
	}()
	synctest.Wait()
	return answer
}

// now returns the answer of an Enter that does not wait.
func (r *rig) now(answer chan entered) entered {
	r.Helper()
	synctest.Wait()
	select {
	case e := <-answer:
		return e
	default:
		r.Fatal("Enter waits")
		return entered{}
	}
}

// waits wants an Enter to wait.
func (r *rig) waits(answer chan entered) {
	r.Helper()
	synctest.Wait()
	if len(answer) > 0 {
		r.Fatalf("Enter did not wait: %+v", <-answer)
	}
}

func (r *rig) advice(want instance.Advice, keys ...string) entered {
	r.Helper()
	e := r.now(r.enter(r.Context(), keys...))
	if e.err != nil || e.advice != want || (e.leave != nil) != (want == instance.Go) {
		r.Fatalf("%v: advice %d, %v; want %d", keys, e.advice, e.err, want)
	}
	return e
}

func (r *rig) level(want instance.Caution) {
	r.Helper()
	if got := r.g.Level(); got != want {
		r.Errorf("%s, want %s", got, want)
	}
}
