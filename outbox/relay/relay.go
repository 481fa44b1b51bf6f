package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/outboxread"
	"github.com/headrace/headrace/internal/publish"
	"github.com/headrace/headrace/internal/serving"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

// Store is the part of a store.Store that a Relay needs.
type Store interface {
	store.Transactor
	// Outbox is what is relayed.
	Outbox() store.Outbox
	// Operations has the alerts, for those of parked rows.
	Operations() store.Operations
}

// ErrStuck matches the error of a call of Publish that did not return in time, and that
// of Run if such calls still run when it returns.
var ErrStuck = publish.ErrStuck

// ErrWaiting matches the error that OnStalled is called with while relays of the same
// outbox publish to another sink: this one waits until those have ended.
var ErrWaiting = serving.ErrWaiting

// ErrOwned matches the error of Acquire, and that OnStalled is called with, if the outbox
// belongs to other consumers: see Options.SinkID.
var ErrOwned = outbox.ErrOwned

// errHung is the error of a Run that abandoned a goroutine.
var errHung = errors.New("relay: a statement has no answer from the database and does not end; it is left behind")

// errUnanswered is the error of a Run that abandoned a call of Healthy.
var errUnanswered = errors.New("relay: the sink's method Healthy does not return when its context ends; it is left behind")

// ErrRunning is the error of a second Run while the first still runs.
var ErrRunning = errors.New("relay: is running already")

// Relay publishes the rows of one outbox through one sink. Its methods are safe
// for concurrent use.
type Relay struct {
	store Store
	sink  message.Publisher
	// withoutTx says that no transaction may be open during a call of the sink.
	withoutTx    bool
	storeTimeout time.Duration
	o            Options
	publisher    *publish.Publisher
	stall        *stall
	place        *serving.Place
	running      atomic.Bool
	reads        outage.Part
	away         atomic.Bool // the outbox cannot be read or written
	telemetry    *telemetry.Telemetry
}

// New returns a relay from st to sink that does not run yet. sink is any Watermill
// Publisher whose Publish returns after the broker has the messages; the relay never
// closes it. The error names an invalid option; SinkID is required if sink has none.
func New(st Store, sink message.Publisher, o Options) (*Relay, error) {
	if st == nil {
		return nil, errors.New("relay: the store is required")
	}
	if sink == nil {
		return nil, errors.New("relay: the sink is required")
	}
	o.SinkID = cmp.Or(o.SinkID, known(sink))
	if o.SinkID == "" {
		return nil, fmt.Errorf("relay: Options.SinkID is required, since a %T has no method SinkID: name its broker, so that relays of another service do not publish this outbox", sink)
	}
	o.Name = cmp.Or(o.Name, "relay")
	return newRelay(st, sink, []string{o.Name}, o)
}

// known returns the identity of a sink that has one, or "".
func known(sink message.Publisher) string {
	if id, ok := outbox.SinkID(sink); ok {
		return id
	}
	return ""
}

// newRelay returns a relay that publishes for consumers, whose sink may have no identity.
func newRelay(st Store, sink message.Publisher, consumers []string, o Options) (*Relay, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	self := outbox.Relay{Outbox: st.Outbox().Name(), Sink: o.SinkID, Known: true, Consumers: consumers}
	if o.SinkID == "" {
		self.Sink, self.Known = outbox.SinkID(sink)
	}
	o = o.withDefaults()
	t, err := telemetry.New(o.TracerProvider, o.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("relay: Options.MeterProvider: %w", err)
	}
	r := &Relay{
		store: st, sink: sink, o: o, stall: newStall(o), storeTimeout: storeTimeout, telemetry: t,
		reads: outage.Part{Fails: "relay: the outbox cannot be read or written; trying again", Works: "relay: the outbox can be read and written again"},
		publisher: publish.New(sink, publish.Options{
			Timeout: o.PublishTimeout, MaxStuck: o.MaxStuck, Concurrency: o.Concurrency, MaxAttempts: o.MaxAttempts, Sends: t.Sender(o.Name),
		}),
	}
	r.place = serving.New(st.Operations().Relays, self, outage.Logger(o.Logger, r.away.Load), r.mayPublish)
	_, r.withoutTx = st.Outbox().(outbox.SingleWriter)
	return r, nil
}

// Run publishes until ctx ends, and returns when everything that it began has returned.
// Calls of Publish are an exception: Run waits for them until StopTimeout and a second
// have passed, and then returns an error that matches ErrStuck and says how many still
// run. Ten seconds after StopTimeout it closes the connections of open transactions. Five
// seconds later it abandons statements on connections that the store cannot interrupt;
// the error says so. Run may be called again after it has returned.
func (r *Relay) Run(ctx context.Context) error {
	if r.running.Swap(true) {
		return ErrRunning
	}
	defer r.running.Store(false)
	gauges, err := r.watch()
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	// A message's context outlives the batch, and ctx while Run waits.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	// cut closes the connections that still wait for the database at the very end.
	cutOff, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	beating, stopBeating := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBeating()
	drained, beaten, asked := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var goroutines sync.WaitGroup
	goroutines.Go(func() { r.endAfter(ctx, drained, end, cut) })
	go func() {
		drain.New(&line{r, life, r.reader(cutOff)}, r.draining()).Run(ctx)
		close(drained)
	}()
	go func() { // ends soon after stopBeating
		r.place.Run(beating)
		close(beaten)
	}()
	go func() { // ends soon after ctx
		r.ask(ctx)
		close(asked)
	}()
	goroutines.Wait()
	end()
	select {
	case <-drained:
	default:
		err = errHung
	}
	stuck := r.publisher.Wait()
	stopBeating()
	bounded, leave := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer leave()
	select {
	case <-beaten:
	case <-bounded.Done():
		err = errHung
	}
	select {
	case <-asked:
	case <-bounded.Done():
		err = errors.Join(err, errUnanswered)
	}
	return errors.Join(err, wrap(stuck), closeGauges(gauges))
}

func (r *Relay) reader(cutOff context.Context) *outboxread.Reader {
	return &outboxread.Reader{Store: r.store, Outbox: r.store.Outbox(), Cut: cutOff, Bytes: r.o.BatchBytes, Rows: r.o.BatchRows}
}

// wrap prefixes an error, which may be nil, with "relay".
func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("relay: %w", err)
}

func (r *Relay) draining() drain.Options {
	wake := r.store.Outbox().Signal().C()
	return drain.Options{Workers: r.o.Workers, MinPoll: r.o.MinPoll, MaxPoll: r.o.MaxPoll, Wake: wake, OnState: r.database}
}

// endAfter returns when the drain has ended, or after the last timeout. It ends the
// messages' context StopTimeout after ctx has ended, and cuts the transactions off later.
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

// mayPublish reports why the relay may not publish, or nil when it may.
func (r *Relay) mayPublish(err error) {
	r.stall.wait(err)
	if err == nil {
		r.store.Outbox().Signal().Wake()
	}
}

// database tells that the database fails, each time, or works again.
func (r *Relay) database(err error) {
	r.reads.Tell(context.Background(), r.o.Logger, err)
	if r.away.Swap(err != nil) != (err != nil) {
		r.o.OnError(err)
	}
}

// Stalled reports whether the relay is stalled: the sink confirms nothing or says that its
// broker is away, or other relays publish the outbox to another sink.
func (r *Relay) Stalled() bool { return r.stall.reason() != nil }

// Status is the content of the outbox and the state of publishing.
type Status struct {
	outbox.Status
	// Stalled is what the method of this name returns.
	Stalled bool `json:"stalled"`
	// Stuck is how many calls of Publish have run over their timeout and still run.
	Stuck int64 `json:"stuck"`
	// LastError is the sink's latest error in this process, capped; "" if there was none.
	// It may be old.
	LastError string `json:"last_error,omitempty"`
}

// Status counts the outbox and adds the state of publishing in this process.
func (r *Relay) Status(ctx context.Context) (Status, error) {
	s, err := r.store.Outbox().Status(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("relay: status: %w", err)
	}
	return Status{Status: s, Stalled: r.Stalled(), Stuck: r.publisher.Stuck(), LastError: r.stall.lastError()}, nil
}

// line implements drain.Line for the outbox.
type line struct {
	*Relay
	life   context.Context // of the messages
	reader *outboxread.Reader
}

// Poll implements drain.Line.
func (l *line) Poll(ctx context.Context, marks []int64) (drain.Polled, error) {
	if !l.place.May() {
		return drain.Polled{}, nil // it is woken when it may
	}
	ctx, cancel := context.WithTimeout(ctx, l.storeTimeout)
	defer cancel()
	p, err := l.store.Outbox().Poll(ctx, marks)
	if err != nil {
		return drain.Polled{}, fmt.Errorf("relay: poll: %w", err)
	}
	if len(p.Shards) == 0 {
		l.stall.idle(time.Now())
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
	if !ok || !l.place.May() {
		return drain.Result{Skipped: true}, nil
	}
	b := &batch{line: l, shard: shard, after: after, probe: probe}
	result, err := b.work(ctx)
	l.stall.leave(shard, b.sinkResult(), time.Now())
	if err != nil {
		return drain.Result{}, fmt.Errorf("relay: shard %d: %w", shard, err)
	}
	return result, nil
}
