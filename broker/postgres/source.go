package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

// Source delivers the messages of queues to a consumer. It is safe for concurrent use.
type Source struct {
	o   SourceOptions
	all statements
	ask *asking

	subs    flow.Subscriptions[*subscription]
	mu      sync.Mutex
	closed  bool
	paused  map[string]bool
	running sync.WaitGroup
}

var (
	_ message.Subscriber           = (*Source)(nil)
	_ message.SubscribeInitializer = (*Source)(nil)
	_ consumer.Pauser              = (*Source)(nil)
	_ consumer.Checker             = (*Source)(nil)
	_ consumer.HealthReporter      = (*Source)(nil)
)

// NewSource returns a Source. It does not connect.
func NewSource(o SourceOptions) (*Source, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("postgres.NewSource: %w", err)
	}
	o = o.withDefaults()
	all, err := load(o.Schema)
	if err != nil {
		return nil, fmt.Errorf("postgres.NewSource: %w", err)
	}
	return &Source{o: o, all: all, ask: &asking{db: o.DB}, paused: make(map[string]bool)}, nil
}

// initTime bounds the statements at start.
const initTime = 10 * time.Second

// Check implements consumer.Checker: the tables must exist, and the pool must be large
// enough. There is no limit of deliveries, and a lease is extended while a message is
// held.
func (s *Source) Check(ctx context.Context, topic string, _ consumer.Demands) error {
	if most := s.o.DB.Stats().MaxOpenConnections; most == 1 {
		return errors.New("option DB allows one connection: a subscription needs two")
	}
	return s.initialize(ctx, topic)
}

// SubscribeInitialize implements message.SubscribeInitializer: it makes the group's queue
// of topic, which gets messages published from then on.
func (s *Source) SubscribeInitialize(topic string) error {
	return s.initialize(context.Background(), topic)
}

func (s *Source) initialize(ctx context.Context, topic string) error {
	_, err := s.ask.exec(ctx, initTime, s.all.get("subscribe"), topic, s.o.Group)
	var state interface{ SQLState() string }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &state) && state.SQLState() == undefinedTable:
		return fmt.Errorf("topic %q: there are no tables in option Schema, %q: postgres.Create makes them: %w", topic, s.o.Schema, err)
	}
	return fmt.Errorf("topic %q: make the queue: %w", topic, reach(err))
}

// undefinedTable is PostgreSQL's code for a missing table or schema.
const undefinedTable = "42P01"

// Subscribe implements message.Subscriber. It makes the group's queue if there is none.
// Messages come until ctx ends or the Source is closed; then the channel is closed. It is
// closed earlier only if the queue was removed. The caller may settle each message at any
// time; its context ends after that.
func (s *Source) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if err := s.initialize(ctx, topic); err != nil {
		return nil, err
	}
	b := &subscription{
		o: s.o, all: s.all, ask: s.ask, topic: topic, holder: rand.Int64(), out: make(chan *message.Message), wake: make(chan struct{}, 1),
		held: make(map[int64]*delivery), settled: make(chan *delivery, s.o.Window), bytes: flow.Bytes{Most: s.o.MaxBytes},
	}
	made, err := b.madeAt(ctx)
	if err != nil {
		return nil, fmt.Errorf("topic %q: %w", topic, reach(err))
	}
	b.made = made
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	b.ctx, b.cancel = context.WithCancel(ctx)
	b.writing, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	b.paused.Store(s.paused[topic])
	s.subs.Add(topic, b)
	s.running.Go(func() {
		defer s.subs.Remove(b)
		b.run()
	})
	return b.out, nil
}

// Pause implements consumer.Pauser: the source takes no more messages, and gives back
// those not handed over.
func (s *Source) Pause(topic string) { s.pause(topic, true) }

// Resume implements consumer.Pauser.
func (s *Source) Resume(topic string) { s.pause(topic, false) }

func (s *Source) pause(topic string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused[topic] = on
	for _, b := range s.subs.To(topic) {
		b.paused.Store(on)
		b.poke()
	}
}

// Close implements message.Subscriber: it ends all subscriptions, gives back unsettled
// messages, and waits for both, for at most CloseTimeout and two seconds more if the
// database does not answer; the log then says how many statements it abandoned. It may be
// called twice.
func (s *Source) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, b := range s.subs.All() {
		b.cancel()
	}
	s.mu.Unlock()
	s.running.Wait()
	if n := s.ask.left.Load(); n > 0 {
		s.o.Logger.Warn("closed; statements that have no answer are left to the driver of option DB", "group", s.o.Group, "statements", n)
	}
	return nil
}
