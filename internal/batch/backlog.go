package batch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/ready"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/task"
)

// Worker works off the backlog of a consumer. It is a drain.Line.
//
// Rule: a message's inbox row goes from Waiting to Done before its handler runs, in the
// same transaction. If it does not, another transaction has finished the message, and the
// backlog row is dropped.
type Worker struct {
	*ready.Rows
	p        *Processor
	consumer string
	handlers map[string]*task.Handler
	names    []string
	timeout  time.Duration // the longest of the handlers' timeouts
	// bytes bounds the payloads that one visit to a shard reads.
	bytes int64
	// leased is called when rows of a leased handler wait to be leased.
	leased func(handler string)
	// unknown is called, once for each, with handlers that have rows but are not
	// registered.
	unknown func(handler string)
	told    sync.Map
}

// WorkerOptions configure a Worker.
type WorkerOptions struct {
	Consumer string
	Handlers []*task.Handler
	// Bytes bounds the payloads that one visit to a shard reads. The first row is read
	// whatever its size.
	Bytes int64
	// Leased is called when rows wait to be leased. Unknown is called once for each
	// handler that has rows but is not registered here.
	Leased, Unknown func(handler string)
}

// NewWorker returns a worker whose messages p processes.
func NewWorker(p *Processor, o WorkerOptions) *Worker {
	w := &Worker{p: p, consumer: o.Consumer, handlers: make(map[string]*task.Handler), bytes: max(o.Bytes, 1), leased: o.Leased, unknown: o.Unknown}
	for _, h := range o.Handlers {
		w.handlers[h.Name] = h
		w.names = append(w.names, h.Name)
		w.timeout = max(w.timeout, h.Timeout)
	}
	w.Rows = &ready.Rows{Store: p.Store, Consumer: o.Consumer, Handlers: o.Handlers, Timeout: p.StoreTimeout}
	return w
}

// Work implements drain.Line.
func (w *Worker) Work(_ context.Context, shard int, after int64) (drain.Result, error) {
	if w.p.stopping.Err() != nil {
		return drain.Result{}, nil
	}
	v := &visit{w: w, shard: shard, after: after, open: make(map[int64]int64), passed: make(map[backlog.OrderKey]int64)}
	var away error
	runner.Alive(func() { w.p.work(v, []*part{{}}, func(err error) bool { away = err; return false }) }, func(err error) { v.t.Rollback(); w.p.Fatal(err) })
	if away != nil {
		return drain.Result{}, fmt.Errorf("work backlog: %w", away)
	}
	return v.result(), nil
}
