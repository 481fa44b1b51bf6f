package telemetry

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Value is one value of a gauge: N, Age or At. Kind is its status or class; "" if the gauge
// has none.
type Value struct {
	Gauge Gauge
	Kind  string
	N     int64
	Age   time.Duration
	At    time.Time
}

// Flag is a value of 1 or 0.
func Flag(g Gauge, on bool) Value {
	v := Value{Gauge: g}
	if on {
		v.N = 1
	}
	return v
}

// Bounds of the queries for gauges.
const (
	// period is how long a result is used for all readers.
	period = 10 * time.Second
	// queryTime bounds the queries; readTime how long a reader waits for them.
	queryTime = 5 * time.Second
	readTime  = time.Second
)

// Watch queries gauges when they are read. Close it before the database.
type Watch struct {
	t      *Telemetry
	owner  attribute.KeyValue
	know   func() []Value
	ask    func(ctx context.Context) ([]Value, error)
	read   time.Duration
	now    func() time.Time
	ctx    context.Context
	cancel context.CancelFunc
	reg    metric.Registration

	mu     sync.Mutex
	closed bool
	asked  time.Time
	under  chan struct{} // closed when the query under way has ended; nil if there is none
	values []Value       // of the latest query; nil where it failed
}

// Watch registers gauges. ask queries the database for gauges; know returns those that
// the process knows, and may be nil. owner and name are the label of the gauges.
func (t *Telemetry) Watch(owner, name string, know func() []Value, ask func(ctx context.Context) ([]Value, error)) (*Watch, error) {
	w := &Watch{t: t, owner: attribute.String(owner, name), know: know, ask: ask, read: readTime, now: time.Now}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	reg, err := t.meter.RegisterCallback(w.observe, t.gauges.all()...)
	if err != nil {
		w.cancel()
		return nil, fmt.Errorf("register gauges: %w", err)
	}
	w.reg = reg
	return w, nil
}

// observe is called by each reader.
func (w *Watch) observe(ctx context.Context, o metric.Observer) error {
	if w.know != nil {
		w.t.gauges.show(o, w.owner, w.know())
	}
	w.t.gauges.show(o, w.owner, w.latest(ctx))
	return nil
}

// latest returns the values, which are at most period old, or none if the database does
// not return them in time.
func (w *Watch) latest(ctx context.Context) []Value {
	w.mu.Lock()
	if w.under == nil && !w.closed && (w.asked.IsZero() || w.now().Sub(w.asked) >= period) {
		w.asked, w.under, w.values = w.now(), make(chan struct{}), nil
		go w.query(w.under)
	}
	under, asked := w.under, w.asked
	if under == nil {
		defer w.mu.Unlock()
		return w.values
	}
	w.mu.Unlock()
	// Only the first reader waits long: a query that hangs must not delay each of them.
	timer := time.NewTimer(max(0, w.read-w.now().Sub(asked)))
	defer timer.Stop()
	select {
	case <-under:
	case <-timer.C:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.values
}

// query runs ask once. Close waits for it.
func (w *Watch) query(done chan struct{}) {
	ctx, cancel := context.WithTimeout(w.ctx, queryTime)
	defer cancel()
	values, err := w.ask(ctx)
	if err != nil {
		values = nil // the consumer's pause is logged elsewhere
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.values, w.under = values, nil
	close(done)
}

// Close unregisters the gauges and waits for the query under way until ctx ends: a driver
// may ignore its context while its connection hangs.
func (w *Watch) Close(ctx context.Context) error {
	if w == nil {
		return nil
	}
	err := w.reg.Unregister()
	w.cancel()
	w.mu.Lock()
	w.closed = true
	under := w.under
	w.values = nil
	w.mu.Unlock()
	if under != nil {
		select {
		case <-under:
		case <-ctx.Done():
			return fmt.Errorf("close gauges: the query does not end: %w", context.Cause(ctx))
		}
	}
	if err != nil {
		return fmt.Errorf("close gauges: %w", err)
	}
	return nil
}
