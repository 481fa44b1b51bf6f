package consumer_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

// publish writes events in a transaction of the program's, and wakes what takes them.
func (b *bundle) publish(events ...headrace.Event) {
	b.Helper()
	tx, err := b.db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	ob := outbox.New(b.st.Outbox())
	if err := ob.Publish(b.Context(), tx, events...); err != nil {
		b.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	ob.Wake()
}

// applied waits until the effect of a message is there.
func (b *bundle) applied(ids ...string) {
	b.Helper()
	for _, id := range ids {
		b.eventually("the effect of "+id, func() bool { return b.effects(id) > 0 })
	}
}

// local is a configuration without any broker.
func (b *bundle) local() consumer.Config {
	config := b.config()
	config.Source = nil
	return config
}

// A handler may have a source of its own, or none; Run names one that has neither.
func TestSourcePerHandler(t *testing.T) {
	b := setupSQLite(t)
	own := memsource.New()
	config := b.config()
	config.Source = nil
	bad := b.consumer(config)
	consumer.Handle(bad, "own", insert, consumer.From(own))
	consumer.Handle(bad, "nothing", insert)
	if err := bad.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `"nothing"`) || strings.Contains(err.Error(), `"own"`) ||
		!strings.Contains(err.Error(), "consumer.From") {
		t.Errorf("Run: %v", err)
	}
	c := b.consumer(b.config())
	consumer.Handle(c, "own", insert, consumer.From(own))
	consumer.Handle(c, topic, insert)
	consumer.Handle(c, "none", insert, consumer.Local())
	b.start(c)
	b.acked(own.Deliver("own", "of its own", []byte(`{}`), nil), b.deliver("of the consumer's", `{}`))
	b.applied("of its own", "of the consumer's")
	b.eventually("Ready, though a handler subscribes to nothing", func() bool { return c.Ready() == nil })
	if got := c.Subscriptions()[2].State; got != "local" {
		t.Errorf("the state of the last is %q", got)
	}
}

// An event gets to a local handler through the database: once for each key, in one
// commit, with its trace; a key that is used again with other content is a dead letter.
//
//evidence:local
func TestLocalDelivery(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		var mu sync.Mutex
		var got []headrace.Delivery
		c := b.consumer(b.local())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			mu.Lock()
			got = append(got, m.Delivery)
			mu.Unlock()
			return insert(ctx, tx, m)
		}, consumer.Local())
		b.start(c)
		b.eventually("Ready", func() bool { return c.Ready() == nil }) // it is subscribed
		first := headrace.Event{ID: "one", Topic: topic, OrderKey: "k", Value: body{1}, Metadata: map[string]string{"h": "v"},
			Trace: headrace.TraceContext{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
		b.publish(first)
		b.applied("one")
		other := first
		other.Value = body{2}
		b.publish(first, other, headrace.Event{ID: "two", Topic: topic, Value: body{3}}, headrace.Event{ID: "bad", Topic: topic, Payload: []byte("{")})
		b.applied("two")
		b.eventually("letters", func() bool { return b.count("SELECT count(*) FROM headrace_dead_letters") == 2 })
		if n := b.effects("one"); n != 1 {
			b.Errorf("%d effects of the first (%s)", n, b.state("one"))
		}
		if b.state("bad") != inbox.Dead {
			b.Errorf("the event that cannot be decoded is %q", b.state("bad"))
		}
		mu.Lock()
		defer mu.Unlock()
		d := got[0]
		if d.Key != "one" || d.ID != "one" || d.Topic != topic || d.OrderKey != "k" || d.Metadata["h"] != "v" || d.Trace != first.Trace ||
			d.Coordinates.Broker != "outbox" || d.Attempt != 1 {
			b.Errorf("the handler was given %+v", d)
		}
	})
}

// Local events whose topic no consumer takes stay where they are, and hold up nothing
// however many they are. So do those for a sink that is not here.
func TestUnclaimedEventsStay(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		var stay []headrace.Event
		for n := range 300 {
			stay = append(stay, headrace.Event{ID: fmt.Sprint("stay", n), Topic: "elsewhere", OrderKey: fmt.Sprint(n), Payload: []byte("x"), Local: n%2 == 0})
		}
		b.publish(stay...)
		c := b.consumer(b.local())
		consumer.Handle(c, topic, insert, consumer.Local())
		b.start(c)
		for n := range 3 {
			ids := []string{fmt.Sprint("go", n), fmt.Sprint("late", n)}
			b.publish(headrace.Event{ID: ids[0], Topic: topic, OrderKey: fmt.Sprint(n), Value: body{}, Local: true},
				headrace.Event{ID: ids[1], Topic: topic, OrderKey: fmt.Sprint(n), Value: body{}, Delay: 50 * time.Millisecond, Local: true})
			b.applied(ids...)
		}
		for name, want := range map[string]int64{"default": 150, outbox.Unclaimed: 150, outbox.LineOf("test"): 0} {
			s, err := b.st.Outbox().Line(name).Status(b.Context())
			if err != nil || s.Ready != want || s.Delayed+s.Parked+s.Behind != 0 {
				b.Errorf("outbox %s holds %+v, %v, want %d", name, s, err, want)
			}
		}
	})
}

// What was published before the consumer ran for the first time waits for it; what was
// published while it did not run waits on its line.
//
//evidence:local
func TestLocalEventsWaitForTheirConsumer(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		before := headrace.Event{ID: "before", Topic: topic, Value: body{1}, Local: true}
		b.publish(before)
		c := b.consumer(b.local())
		consumer.Handle(c, topic, insert, consumer.Local())
		b.start(c)
		b.applied("before")
		if err := b.halt(); err != nil {
			b.Error(err)
		}
		b.publish(headrace.Event{ID: "meanwhile", Topic: topic, Value: body{2}})
		again := b.consumer(b.local())
		consumer.Handle(again, topic, insert, consumer.Local())
		b.start(again)
		b.applied("meanwhile")
	})
}

// A local event has the time at which it was published, by the database's clock: suspect mode
// and the windows of steps count from it.
func TestLocalEventsHaveATime(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		times := make(chan time.Time, 2)
		c := b.consumer(b.local())
		consumer.Handle(c, "orders", func(_ context.Context, _ *headrace.Tx, m *headrace.Message[struct{}]) error {
			times <- m.Time
			return nil
		}, consumer.Local())
		b.start(c)
		b.eventually("Ready", func() bool { return c.Ready() == nil }) // it is subscribed
		before := time.Now()
		b.publish(headrace.Event{Topic: "orders", Value: struct{}{}}, headrace.Event{Topic: "orders", Value: struct{}{}, Delay: 20 * time.Millisecond})
		for range 2 {
			if at := <-times; at.Before(before.Add(-time.Second)) || at.After(before.Add(time.Minute)) {
				b.Errorf("published at %s, not %s", at, before)
			}
		}
	})
}

// The handler's own functions identify a local event, as they do a delivery: two events of
// one business key are one message.
//
//evidence:local
func TestLocalEventsHaveTheHandlersKey(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.local()
		config.Key = inbox.JSON("n")
		c := b.consumer(config)
		consumer.Handle(c, topic, insert, consumer.Local())
		consumer.Handle(c, "other", insert, consumer.Local(), consumer.Key(inbox.Header("id")))
		b.start(c)
		b.eventually("Ready", func() bool { return c.Ready() == nil }) // it is subscribed
		// In one order for each topic, so that the second of two is the duplicate.
		b.publish(headrace.Event{ID: "one", Topic: topic, OrderKey: "k", Value: body{1}}, headrace.Event{ID: "two", Topic: topic, OrderKey: "k", Value: body{1}},
			headrace.Event{ID: "three", Topic: "other", OrderKey: "k", Value: body{1}, Metadata: map[string]string{"id": "x"}},
			headrace.Event{ID: "four", Topic: "other", OrderKey: "k", Value: body{1}, Metadata: map[string]string{"id": "x"}},
			headrace.Event{ID: "end", Topic: topic, OrderKey: "k", Value: body{2}})
		b.applied("one", "three", "end")
		b.eventually("the duplicates are counted", func() bool { return c.Stats().Duplicates == 2 })
		if n := b.effects("two") + b.effects("four"); n != 0 {
			b.Errorf("%d effects of duplicates", n)
		}
	})
}

// A topic that no handler of this process takes holds up its own order alone, and waits.
func TestAnUnhandledTopicBlocksNothingElse(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		log := &lines{}
		if err := b.st.Operations().Subscriptions.Subscribe(b.Context(), map[string][]string{"test": {"gone", topic}}); err != nil {
			b.Fatal(err)
		}
		for n := range 5 {
			b.publish(headrace.Event{Topic: "gone", OrderKey: "k", Value: body{n}, Local: true}, headrace.Event{Topic: "gone", Value: body{n}, Local: true})
		}
		config := b.local()
		config.Logger = slog.New(slog.NewTextHandler(log, nil))
		c := b.consumer(config)
		consumer.Handle(c, topic, insert, consumer.Local())
		b.start(c)
		b.publish(headrace.Event{ID: "go", Topic: topic, OrderKey: "k", Value: body{1}})
		b.applied("go")
		b.eventually("the others are held", func() bool {
			s, err := b.st.Outbox().Line(outbox.LineOf("test")).Status(b.Context())
			return err == nil && s.Ready == 0 && s.Delayed == 6 && s.Behind == 4
		})
		if n := b.count("SELECT count(*) FROM headrace_outbox_held WHERE error LIKE '%had a local handler%'"); n != 6 {
			b.Errorf("%d rows say why", n)
		}
		if n := strings.Count(log.String(), "is not registered in this process"); n != 1 {
			b.Errorf("logged %d times", n)
		}
		if text := log.String(); !strings.Contains(text, "give the two consumers two names") || strings.Index(text, "two names") > strings.Index(text, "subscription remove") {
			b.Errorf("what loses the events is advised first: %s", text)
		}
	})
}

// sinkOf publishes into a memory of ids by topic.
type sinkOf struct {
	mu  sync.Mutex
	ids map[string][]string
	err error
}

func (s *sinkOf) Publish(topic string, ms ...*message.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.ids == nil {
		s.ids = make(map[string][]string)
	}
	for _, m := range ms {
		s.ids[topic] = append(s.ids[topic], m.UUID)
	}
	return nil
}

func (s *sinkOf) Close() error { return nil }

func (s *sinkOf) of(topic string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ids[topic])
}

func (s *sinkOf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// An event goes to the sink and to the local handlers of its topic; an outage of the sink
// does not delay them. A local event goes to the handlers alone.
//
//evidence:local
func TestLocalHandlersBesideASink(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		sink := &sinkOf{err: errBoom}
		config := b.local()
		config.Sink = sink
		c := b.consumer(config)
		consumer.Handle(c, "in", insert, consumer.Local())
		consumer.Handle(c, "both", insert, consumer.Local())
		b.start(c)
		var events []headrace.Event
		for _, topic := range []string{"out", "in", "both"} {
			for n := range 40 {
				events = append(events, headrace.Event{ID: fmt.Sprint(topic, n), Topic: topic, OrderKey: fmt.Sprint(n % 3), Value: body{n}, Local: topic == "in"})
			}
		}
		b.eventually("Ready", func() bool { return c.Ready() == nil }) // both are subscribed
		b.publish(events...)
		b.eventually("all, while the sink is out", func() bool { return b.count("SELECT count(*) FROM effects") == 2*40 })
		sink.fail(nil)
		b.eventually("an empty outbox", func() bool {
			return b.count("SELECT count(*) FROM headrace_outbox") == 0 && b.count("SELECT count(*) FROM headrace_outbox_held") == 0
		})
		if n := b.count("SELECT count(DISTINCT msg) FROM effects"); n != 2*40 {
			b.Errorf("%d messages were applied", n)
		}
		if len(sink.of("in")) != 0 || len(sink.of("both")) != 40 || len(sink.of("out")) != 40 {
			b.Errorf("the sink has %v, %v and %v", sink.of("in"), sink.of("both"), sink.of("out"))
		}
	})
}

// Strict order holds for local events: events of an order key are applied in the order in
// which they were written, though one of them has to wait for its retry.
//
//evidence:local
func TestStrictOrderOfLocalEvents(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		b.exec("CREATE TABLE lists (customer TEXT, pos INTEGER, seq INTEGER)")
		var r runs
		config := b.local()
		config.Strict = true
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.Body.N%5 == 1 && r.next(m.ID) < 3 { // the second failure puts it off
				return errBoom
			}
			return appendTo(ctx, tx, m)
		}, consumer.Local())
		b.start(c)
		// An event that is being published while its topic is subscribed to is swept into the
		// line later, maybe behind the next one.
		b.eventually("Ready", func() bool { return c.Ready() == nil })
		for n := range 20 {
			for customer := range 3 {
				b.publish(headrace.Event{ID: fmt.Sprint(customer, "/", n), Topic: topic, OrderKey: fmt.Sprint(customer), Value: body{n}, Local: true,
					Metadata: map[string]string{"customer": fmt.Sprint(customer)}})
			}
		}
		b.eventually("all", func() bool { return b.count("SELECT count(*) FROM lists") == 60 })
		for customer := range 3 {
			if got := b.sequence(fmt.Sprint(customer)); !slices.Equal(got, upTo(20)) {
				b.Errorf("customer %d: %v", customer, got)
			}
		}
	})
}

// Two local handlers of one topic are refused by name, and another name is not advised, which would not help.
func TestTwoLocalHandlersOfATopic(t *testing.T) {
	for _, name := range []string{topic, "second"} {
		b := setupSQLite(t)
		c := b.consumer(b.local())
		consumer.Handle(c, topic, insert, consumer.Local())
		consumer.Handle(c, topic, insert, consumer.Local(), consumer.Name(name))
		err := c.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "already takes the local events") || strings.Contains(err.Error(), "consumer.Name") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every id that the outbox accepts is a key by default: an event with a long
// one is handled once. Its key is what it was kept under where it was undecodable.
func TestLocalDeliveryOfALongID(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.local())
		consumer.Handle(c, topic, insert, consumer.Local())
		b.start(c)
		var last headrace.Event
		for _, n := range []int{inbox.MaxKeyBytes, inbox.MaxKeyBytes + 1, 1 << 10} {
			last = headrace.Event{ID: strings.Repeat("x", n), Topic: topic, Value: body{1}, Local: true}
			b.publish(last, last)
		}
		b.eventually("all of them", func() bool {
			return c.Stats().BacklogApplied == 3 && b.count("SELECT count(*) FROM headrace_outbox") == 0
		})
		if n := b.count("SELECT count(*) FROM headrace_dead_letters"); n != 0 {
			b.Errorf("%d dead letters", n)
		}
		if key := encode.Fit(last.ID, 0); b.state(key) != inbox.Done { // a hash
			b.Errorf("under %q it is %q", key, b.state(key))
		}
	})
}

// notedStart notes whether a consumer has subscribed when its instance is recorded.
type notedStart struct {
	store.Store
	subscribed chan struct{} // closed by the first Subscribe
	early      chan bool
}

func (s *notedStart) Operations() store.Operations {
	o := s.Store.Operations()
	o.Subscriptions, o.Instances = notedSubscribe{o.Subscriptions, s}, notedInstances{o.Instances, s}
	return o
}

type notedSubscribe struct {
	outbox.Subscriptions
	s *notedStart
}

func (n notedSubscribe) Subscribe(ctx context.Context, topics map[string][]string) error {
	select {
	case <-n.s.subscribed:
	default:
		close(n.s.subscribed)
	}
	return n.Subscriptions.Subscribe(ctx, topics)
}

type notedInstances struct {
	instance.Store
	s *notedStart
}

func (n notedInstances) Start(ctx context.Context, i instance.Instance) error {
	select {
	case <-n.s.subscribed:
		n.s.early <- true
	case <-time.After(300 * time.Millisecond):
		n.s.early <- false
	}
	return n.Store.Start(ctx, i)
}

// A subscription whose process is not recorded yet could be removed, and the process would miss
// events until it subscribes again.
func TestAProcessIsRecordedBeforeItSubscribes(t *testing.T) {
	b := setupSQLite(t)
	st := &notedStart{Store: b.st, subscribed: make(chan struct{}), early: make(chan bool, 1)}
	c, err := consumer.New("billing", st, b.local())
	if err != nil {
		t.Fatal(err)
	}
	consumer.Handle(c, "local", insert, consumer.Local())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	if <-st.early {
		t.Error("the consumer subscribed first")
	}
	select {
	case <-st.subscribed:
	case <-time.After(20 * time.Second):
		t.Error("the consumer does not subscribe")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
