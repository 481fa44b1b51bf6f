package local

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/outboxread"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/stranded"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

// Store is the part of a store.Store that local delivery needs.
type Store interface {
	store.Transactor
	Backlog() backlog.Tables
	Outbox() store.Outbox
}

// Options configure a Line. All are required, except Sink.
type Options struct {
	Store         Store
	Subscriptions outbox.Subscriptions
	// Consumer is the consumer's name, and Handlers are its local ones, of one topic each.
	Consumer string
	Handlers []*task.Handler
	// Settled is called after the commit with the outcome of each event.
	Settled func(task.Outcome)
	// Sink says that this process publishes the outbox.
	Sink bool
	// Beside are the topics of consumers that start with this one, by their names: they are
	// subscribed to together.
	Beside map[string][]string
	// Stranded logs events that no handler takes.
	Stranded *stranded.Log
	// Subscribed is called once, when the subscriptions are recorded.
	Subscribed func()
	// StoreTimeout bounds a transaction. Store cuts those that are open at the end of a stop.
	StoreTimeout time.Duration
	// Recorder writes the rows of the backlog.
	Recorder *outcome.Recorder
	Logger   *slog.Logger
}

const (
	// workers is how many shards are worked on at a time.
	workers = 2
	// batchRows and batchBytes bound a batch.
	batchRows  = 1000
	batchBytes = 4 << 20
)

// Line is the line of a consumer.
type Line struct {
	o      Options
	outbox store.Outbox
	reader *outboxread.Reader
	// byTopic are the handlers, and topics theirs.
	byTopic map[string]*task.Handler
	topics  []string
	// busy has for each shard the rows that other transactions worked on at the last try.
	// It belongs to the worker of the shard.
	busy [shard.Count]map[int64]bool

	mu        sync.Mutex
	unhandled map[string]bool // topics that were logged
}

// New returns a line that does not run yet.
func New(o Options) *Line {
	line := o.Store.Outbox().Line(outbox.LineOf(o.Consumer))
	l := &Line{
		o: o, outbox: line, unhandled: make(map[string]bool), byTopic: make(map[string]*task.Handler),
		reader: &outboxread.Reader{Store: o.Store, Outbox: line, Bytes: batchBytes, Rows: batchRows},
	}
	for _, h := range o.Handlers {
		l.byTopic[h.Topic], l.topics = h, append(l.topics, h.Topic)
	}
	return l
}

// Run subscribes, and then works the line off until ctx ends. It returns when everything
// that it began has returned.
func (l *Line) Run(ctx context.Context) {
	if !l.subscribe(ctx) {
		return
	}
	l.o.Subscribed()
	var beats sync.WaitGroup
	beats.Go(func() { l.beat(ctx) })
	taking := outage.Part{Fails: "local events cannot be taken from the outbox; trying again", Works: "local events are taken from the outbox again"}
	drain.New(l, drain.Options{Workers: workers, Wake: l.outbox.Signal().C(), OnState: func(err error) { taking.Tell(ctx, l.o.Logger, err) }}).Run(ctx)
	beats.Wait()
}

// Poll implements drain.Line.
func (l *Line) Poll(ctx context.Context, marks []int64) (drain.Polled, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.StoreTimeout)
	defer cancel()
	p, err := l.outbox.Poll(ctx, marks)
	if err != nil {
		return drain.Polled{}, fmt.Errorf("poll for local events: %w", err)
	}
	return drain.Polled{Shards: p.Shards, Next: p.Next}, nil
}

// Work implements drain.Line: one batch, in one transaction.
func (l *Line) Work(ctx context.Context, shard int, after int64) (drain.Result, error) {
	h := &handover{Line: l, shard: shard, after: after}
	// Finish the batch, also when the consumer stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.o.StoreTimeout)
	defer cancel()
	result, err := h.work(ctx)
	if err != nil {
		return drain.Result{}, fmt.Errorf("local events: shard %d: %w", shard, err)
	}
	return result, nil
}

// logUnhandled logs once that events of a topic wait for another process.
func (l *Line) logUnhandled(topic string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unhandled[topic] {
		return
	}
	l.unhandled[topic] = true
	l.o.Logger.Warn("events wait for a local handler that is not registered in this process: if another service has it, give the two consumers two names; if another release has it, keep that running until it has handled them; "+
		"only if none has it, end the subscription, which loses them: headrace subscription remove CONSUMER TOPIC --events",
		"topic", topic)
}
