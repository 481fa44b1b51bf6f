package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Store is what a Relay needs of a database. Every store.Store is one.
type Store interface {
	// Begin, Commit and Outbox are those of store.Store.
	Begin(ctx context.Context) (*txn.Txn, error)
	Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error
	Outbox() store.Outbox
	// Operations has the alerts, where parked rows are told of.
	Operations() store.Operations
}

// ErrRunning is the error of a second Run while the first goes on.
var ErrRunning = errors.New("relay: is running already")

// Relay publishes the rows of one outbox through one sink. Its methods are safe
// for concurrent use.
type Relay struct {
	store Store
	// apart says that nobody may wait for the sink inside of a transaction.
	apart bool
	book  time.Duration // bookTime
	o     Options
	sink  *sink
	stall *stall
	size  size
	// refused holds for each shard the rows that the last round was refused without
	// spending an attempt, and how many rows the sink had confirmed then. It belongs
	// to whoever works on the shard.
	refused [shard.Count]map[int64]int64
	running atomic.Bool

	telemetry *telemetry.Telemetry
	sends     *telemetry.Sender
}

// New returns a relay from st to sink that does not run yet. sink is any Watermill
// Publisher whose Publish returns after the broker has the messages; the relay
// never closes it. The error names an option that cannot be meant.
func New(st Store, sink message.Publisher, o Options) (*Relay, error) {
	if st == nil || sink == nil {
		return nil, errors.New("relay: the store and the sink are required")
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	t, err := telemetry.New(o.TracerProvider, o.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("relay: Options.MeterProvider: %w", err)
	}
	r := &Relay{store: st, o: o, sink: newSink(sink, o), stall: newStall(o), book: bookTime, telemetry: t, sends: t.Sender(o.Name)}
	_, r.apart = st.Outbox().(outbox.SingleWriter)
	return r, nil
}

// Run publishes until ctx ends, and returns when everything that it began has
// returned, but for calls of Publish that do not return: it waits for them until
// StopTimeout and a second have passed, and then returns an error that matches
// ErrStuck and says how many. It may be called again after it has returned.
func (r *Relay) Run(ctx context.Context) error {
	if r.running.Swap(true) {
		return ErrRunning
	}
	defer r.running.Store(false)
	gauges, err := r.watch()
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	// A message's context outlives the batch, and ctx for as long as Run waits.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	drained := make(chan struct{})
	var goroutines sync.WaitGroup
	goroutines.Go(func() { r.endAfter(ctx, drained, end) })
	drain.New(&line{Relay: r, life: life}, drain.Options{
		Workers: r.o.Workers,
		MinPoll: r.o.MinPoll,
		MaxPoll: r.o.MaxPoll,
		Wake:    r.store.Outbox().Signal().C(),
		OnState: r.database,
	}).Run(ctx)
	close(drained)
	goroutines.Wait()
	end()
	return errors.Join(r.sink.wait(stuckGrace), closeGauges(gauges))
}

// endAfter ends the life of the messages StopTimeout after ctx has ended.
func (r *Relay) endAfter(ctx context.Context, drained <-chan struct{}, end func()) {
	select {
	case <-ctx.Done():
	case <-drained:
		return
	}
	timer := time.NewTimer(r.o.StopTimeout)
	defer timer.Stop()
	select {
	case <-timer.C:
		end()
	case <-drained:
	}
}

// database reports how the database does.
func (r *Relay) database(err error) {
	if err != nil {
		r.o.Logger.Error("relay: the outbox cannot be read or written; trying again", "error", err)
	} else {
		r.o.Logger.Info("relay: the outbox can be read and written again")
	}
	r.o.OnError(err)
}

// Stalled reports whether the sink confirms nothing at present.
func (r *Relay) Stalled() bool { return r.stall.reason() != nil }

// Status is what the outbox holds and how its publishing goes.
type Status struct {
	outbox.Status
	// Stalled says that the sink confirms nothing at present.
	Stalled bool `json:"stalled"`
	// Stuck is how many calls of Publish have not returned in time, and still not.
	Stuck int64 `json:"stuck"`
	// LastError is the sink's latest error in this process, capped; "" if there was
	// none. It may be long past.
	LastError string `json:"last_error,omitempty"`
}

// Status counts the outbox and says how its publishing goes in this process.
func (r *Relay) Status(ctx context.Context) (Status, error) {
	s, err := r.store.Outbox().Status(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("relay: status: %w", err)
	}
	return Status{Status: s, Stalled: r.Stalled(), Stuck: r.sink.stuck.Load(), LastError: r.stall.lastError()}, nil
}

// line is the outbox as the drain sees it.
type line struct {
	*Relay
	life context.Context // of the messages
}

// Poll implements drain.Line.
func (l *line) Poll(ctx context.Context, marks []int64) (drain.Polled, error) {
	ctx, cancel := context.WithTimeout(ctx, l.book)
	defer cancel()
	p, err := l.store.Outbox().Poll(ctx, marks)
	if err != nil {
		return drain.Polled{}, fmt.Errorf("relay: poll: %w", err)
	}
	shards, next := l.stall.choose(p.Shards, time.Now())
	if next == 0 || p.Next > 0 && p.Next < next {
		next = p.Next
	}
	return drain.Polled{Shards: shards, Next: next}, nil
}

// Work implements drain.Line: one batch.
func (l *line) Work(ctx context.Context, shard int, after int64) (drain.Result, error) {
	probe, ok := l.stall.enter(shard, time.Now())
	if !ok {
		return drain.Result{Skipped: true}, nil
	}
	b := &batch{line: l, shard: shard, after: after, probe: probe}
	result, err := b.work(ctx)
	l.stall.leave(shard, b.verdict(), time.Now())
	if err != nil {
		return drain.Result{}, fmt.Errorf("relay: shard %d: %w", shard, err)
	}
	return result, nil
}
