package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/intake"
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
	// Inbox, Backlog and Letters are where routes put events.
	Inbox() inbox.Store
	Backlog() backlog.Tables
	Letters() dlq.Store
}

// errHung is the error of a Run that left a goroutine behind.
var errHung = errors.New("relay: a statement has no answer from the database and does not end; it is left behind")

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

	routes atomic.Pointer[table]
	intake *intake.Intake
	// woken wakes the sink's drain and routed that of local delivery.
	woken, routed *outbox.Signal
}

// New returns a relay from st to sink that does not run yet. sink is any Watermill
// Publisher whose Publish returns after the broker has the messages; the relay
// never closes it. It may be nil where Options.Routes are given: only their topics are
// relayed then. The error names an option that cannot be meant.
func New(st Store, sink message.Publisher, o Options) (*Relay, error) {
	if st == nil {
		return nil, errors.New("relay: the store is required")
	}
	if sink == nil && len(o.Routes) == 0 {
		return nil, errors.New("relay: the sink or Options.Routes is required")
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	t, err := telemetry.New(o.TracerProvider, o.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("relay: Options.MeterProvider: %w", err)
	}
	r := &Relay{
		store: st, o: o, sink: newSink(sink, o), stall: newStall(o), book: bookTime,
		telemetry: t, sends: t.Sender(o.Name),
		intake: newIntake(st, o), woken: outbox.NewSignal(), routed: outbox.NewSignal(),
	}
	_, r.apart = st.Outbox().(outbox.SingleWriter)
	if err := r.addRoutes(o.Routes); err != nil {
		return nil, fmt.Errorf("relay: Options.Routes: %w", err)
	}
	return r, nil
}

// addRoutes adds routes, also while the relay runs. It is not called concurrently.
func (r *Relay) addRoutes(routes []Route) error {
	next, err := r.routes.Load().with(routes, r.sink.publisher != nil)
	if err != nil {
		return err
	}
	r.routes.Store(next)
	r.routed.Wake()
	return nil
}

// Run publishes until ctx ends, and returns when everything that it began has
// returned, but for calls of Publish that do not return: it waits for them until
// StopTimeout and a second have passed, and then returns an error that matches
// ErrStuck and says how many. Ten seconds after StopTimeout the connections of open
// transactions are cut, and five seconds later statements are left behind on
// connections that the store cannot reach; the error says so. It may be called again
// after it has returned.
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
	// What still waits for the database at the very end is cut off.
	over, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	drained := make(chan struct{})
	var goroutines sync.WaitGroup
	goroutines.Go(func() { r.endAfter(ctx, drained, end, cut) })
	goroutines.Go(func() { r.passOn(ctx) })
	var drains sync.WaitGroup
	if r.sink.publisher != nil {
		drains.Go(func() { drain.New(&line{Relay: r, life: life, over: over}, r.draining(r.woken)).Run(ctx) })
	}
	drains.Go(func() { drain.New(&local{Relay: r, over: over}, r.draining(r.routed)).Run(ctx) })
	go func() { // ends with the drains
		drains.Wait()
		close(drained)
	}()
	goroutines.Wait()
	end()
	select {
	case <-drained:
	default:
		err = errHung
	}
	return errors.Join(err, r.sink.wait(stuckGrace), closeGauges(gauges))
}

func (r *Relay) draining(wake *outbox.Signal) drain.Options {
	return drain.Options{Workers: r.o.Workers, MinPoll: r.o.MinPoll, MaxPoll: r.o.MaxPoll, Wake: wake.C(), OnState: r.database}
}

// passOn wakes both drains when the outbox is.
func (r *Relay) passOn(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.store.Outbox().Signal().C():
			r.woken.Wake()
			r.routed.Wake()
		}
	}
}

// endAfter returns once the drains have ended, or are left behind. It ends the life of
// the messages StopTimeout after ctx has ended, and cuts the transactions off later.
func (r *Relay) endAfter(ctx context.Context, drained <-chan struct{}, end, cut func()) {
	select {
	case <-ctx.Done():
	case <-drained:
		return
	}
	for _, step := range []struct {
		after time.Duration
		do    func()
	}{{r.o.StopTimeout, end}, {cutTime, cut}, {leaveTime, func() {}}} {
		timer := time.NewTimer(step.after)
		select {
		case <-timer.C:
			step.do()
		case <-drained:
			timer.Stop()
			return
		}
	}
}

// database reports how the database does.
func (r *Relay) database(err error) {
	if err != nil {
		r.o.Logger.Error("relay: the outbox cannot be read or written; trying again", "error", encode.Said(err))
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
	over context.Context // of the transactions
}

// Poll implements drain.Line.
func (l *line) Poll(ctx context.Context, marks []int64) (drain.Polled, error) {
	ctx, cancel := context.WithTimeout(ctx, l.book)
	defer cancel()
	p, err := l.look(ctx, marks)
	if err != nil {
		return drain.Polled{}, fmt.Errorf("relay: poll: %w", err)
	}
	shards, next := l.stall.choose(p.Shards, time.Now())
	if next == 0 || p.Next > 0 && p.Next < next {
		next = p.Next
	}
	return drain.Polled{Shards: shards, Next: next}, nil
}

// look looks for rows that are for the sink.
func (l *line) look(ctx context.Context, marks []int64) (outbox.Poll, error) {
	topics := l.routes.Load().rest
	if len(topics.Names) == 0 {
		return l.store.Outbox().Poll(ctx, marks)
	}
	p, _, err := l.store.Outbox().PollTopics(ctx, marks, topics)
	return p, err
}

// Work implements drain.Line: one batch.
func (l *line) Work(ctx context.Context, shard int, after int64) (drain.Result, error) {
	probe, ok := l.stall.enter(shard, time.Now())
	if !ok {
		return drain.Result{Skipped: true}, nil
	}
	b := &batch{line: l, shard: shard, after: after, probe: probe, table: l.routes.Load()}
	result, err := b.work(ctx)
	l.stall.leave(shard, b.verdict(), time.Now())
	if err != nil {
		return drain.Result{}, fmt.Errorf("relay: shard %d: %w", shard, err)
	}
	return result, nil
}
