package enginetest

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store/txn"
)

// Engine is a processor, and what it told.
type Engine struct {
	*batch.Processor
	*batch.Options
	F *Fixture
	// Stop ends Stopping, and Cut ends Cancelled.
	Stop, Cut           context.CancelFunc
	Stopping, Cancelled context.Context

	mu       sync.Mutex
	outcomes map[string][]task.Outcome
	failures []outcome.Failure
	fatal    error
	sessions sync.WaitGroup
}

// Engine returns a processor on f's store; change changes its options.
func (f *Fixture) Engine(change func(*batch.Options)) *Engine { return f.EngineOn(f.Store, change) }

// EngineOn returns a processor on another store of the same database.
func (f *Fixture) EngineOn(st *Store, change func(*batch.Options)) *Engine {
	e := &Engine{F: f, outcomes: make(map[string][]task.Outcome)}
	e.Stopping, e.Stop = context.WithCancel(context.Background())
	e.Cancelled, e.Cut = context.WithCancel(context.Background())
	e.Options = &batch.Options{
		Store: st, Recorder: Recorder(st), Breaker: breaker.New(nil),
		Runner: &runner.Runner{
			Grace: 200 * time.Millisecond, Sessions: &e.sessions,
			Stuck: func(any) {}, Returned: func(what any) { what.(task.Call).Returned() },
		},
		MaxBatch: 64, BatchTime: time.Minute, StoreTimeout: 10 * time.Second, LockTimeout: 200 * time.Millisecond,
		Versions: st.Operations().Versions, Wake: func() {},
		Failed: e.failed, Ended: func(t *task.Task, o task.Outcome) { e.ended(t.Delivery.Key, o) },
		Fatal: func(err error) { e.mu.Lock(); defer e.mu.Unlock(); e.fatal = err },
	}
	if change != nil {
		change(e.Options)
	}
	e.Processor = batch.New(e.Stopping, e.Cancelled, e.Options)
	f.Cleanup(func() { e.Stop(); e.Cut(); e.sessions.Wait() })
	return e
}

// Recorder returns a recorder on st.
func Recorder(st *Store) *outcome.Recorder {
	return &outcome.Recorder{
		Store: st, Answers: st.Operations().Answers, Steps: st.Operations().Steps, Signals: st.Operations().Signals, Host: "host", Build: "build", Environment: "environment",
		DeadTopic: func(string) string { return "" },
	}
}

func (e *Engine) failed(f *outcome.Failure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures = append(e.failures, *f)
}

func (e *Engine) ended(key string, o task.Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outcomes[key] = append(e.outcomes[key], o)
}

// Outcomes returns the outcomes of a message, in order.
func (e *Engine) Outcomes(key string) []task.Outcome {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]task.Outcome(nil), e.outcomes[key]...)
}

// Failures returns the failures that were recorded.
func (e *Engine) Failures() []outcome.Failure {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]outcome.Failure(nil), e.failures...)
}

// FatalError returns the error after which the consumer must stop.
func (e *Engine) FatalError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fatal
}

// Task is a live delivery of d to h.
func (e *Engine) Task(h *task.Handler, d headrace.Delivery) *task.Task {
	t := &task.Task{Handler: h, Delivery: d}
	h.Resolve(t)
	t.Finish = func(o task.Outcome) { e.ended(d.Key, o) }
	return t
}

// Tasks are live deliveries to h, without order keys.
func (e *Engine) Tasks(h *task.Handler, keys ...string) []*task.Task {
	tasks := make([]*task.Task, len(keys))
	for i, key := range keys {
		tasks[i] = e.Task(h, Delivery(h, key, ""))
	}
	return tasks
}

// Process processes live deliveries, and returns those without an outcome.
func (e *Engine) Process(tasks []*task.Task) []*task.Task {
	j := e.Processor.Process(tasks)
	e.Runner.Work(e.Cancelled, j.Next)
	return j.Left()
}

// Deliver processes live deliveries until each has an outcome.
func (e *Engine) Deliver(h *task.Handler, keys ...string) {
	e.F.Helper()
	e.ProcessAll(e.Tasks(h, keys...))
}

// ProcessAll processes tasks until each has an outcome.
func (e *Engine) ProcessAll(tasks []*task.Task) {
	e.F.Helper()
	for deadline := time.Now().Add(Bound); len(tasks) > 0; {
		if tasks = e.Process(tasks); time.Now().After(deadline) {
			e.F.Fatalf("%d messages have no outcome", len(tasks))
		}
	}
}

// PutAll puts messages into the backlog.
func (e *Engine) PutAll(h *task.Handler, deliveries ...headrace.Delivery) {
	e.F.Helper()
	messages := make([]outcome.Message, len(deliveries))
	for i, d := range deliveries {
		messages[i].Item = backlog.Item{Consumer: h.Consumer, Handler: h.Name, Delivery: d, Strict: h.Strict}
	}
	e.F.In(func(t *txn.Txn) error {
		in, err := e.Recorder.Intake(e.F.Context(), t, messages, outcome.Limits{})
		for i, taken := range in.Messages {
			if taken != outcome.Taken {
				e.F.Errorf("%s was not taken in: %d", deliveries[i].Key, taken)
			}
		}
		return err
	})
}

// Put puts messages without an order key into the backlog.
func (e *Engine) Put(h *task.Handler, keys ...string) {
	e.F.Helper()
	deliveries := make([]headrace.Delivery, len(keys))
	for i, key := range keys {
		deliveries[i] = Delivery(h, key, "")
	}
	e.PutAll(h, deliveries...)
}

// In runs f in a transaction, and commits it.
func (f *Fixture) In(do func(*txn.Txn) error) {
	f.Helper()
	t, err := f.Store.Store.Begin(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	defer t.Rollback()
	if err = do(t); err == nil {
		err = f.Store.Store.Commit(f.Context(), t, nil)
	}
	if err != nil {
		f.Fatal(err)
	}
}

// Worker is one of the engine's, for handlers.
func (e *Engine) Worker(handlers ...*task.Handler) *batch.Worker {
	return batch.NewWorker(e.Processor, batch.WorkerOptions{
		Consumer: Consumer, Handlers: handlers, Bytes: 16 << 20, Leased: func(string) {}, Unknown: func(string) {},
	})
}

// Lease moves what is ready to h, a leased handler, and leases at most n of its rows for a
// minute.
func (e *Engine) Lease(h *task.Handler, n int) (tasks []*task.Task) {
	e.F.Helper()
	token := rand.Text()
	e.WorkOff(e.Worker(h))
	e.F.In(func(t *txn.Txn) error {
		items, err := e.F.Store.Backlog().Leases.Claim(e.F.Context(), t, h.Consumer, h.Name, token, time.Minute, n)
		for i := range items {
			tasks = append(tasks, &task.Task{Handler: h, Delivery: items[i].Delivery, Item: &items[i], Token: token, Reruns: items[i].Reruns})
		}
		return err
	})
	return tasks
}

// Round polls and visits each shard that has ready rows once, and reports whether there
// was one.
func (e *Engine) Round(w *batch.Worker) bool {
	e.F.Helper()
	polled, err := w.Poll(e.F.Context(), make([]int64, backlog.Shards))
	if err != nil {
		e.F.Fatal(err)
	}
	for _, shard := range polled.Shards {
		if _, err := w.Work(e.F.Context(), shard, 0); err != nil {
			e.F.Fatal(err)
		}
	}
	return len(polled.Shards) > 0
}

// WorkOff visits shards until no row is ready.
func (e *Engine) WorkOff(w *batch.Worker) {
	e.F.Helper()
	for deadline := time.Now().Add(Bound); e.Round(w); {
		if time.Now().After(deadline) {
			e.F.Fatal("the backlog does not end")
		}
	}
}

var _ testing.TB = (*Fixture)(nil)
