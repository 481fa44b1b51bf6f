package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
)

// published is a Publisher that keeps what it was given.
type published struct {
	mu     sync.Mutex
	list   []*message.Message
	topics []string
	closed int
}

func (p *published) Publish(topic string, messages ...*message.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed > 0 {
		return errors.New("closed")
	}
	for _, m := range messages {
		p.list, p.topics = append(p.list, m), append(p.topics, topic)
	}
	return nil
}

func (p *published) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed++
	return nil
}

func (p *published) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.list)
}

func (p *published) closings() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// routed is a Router with a Consumer attached.
type routed struct {
	*bundle
	router *message.Router
	c      *consumer.Consumer
	sink   *published
	own    *published // the handlers' publisher
	ran    chan error
	cancel context.CancelFunc
}

const reply = "invoices.created"

func (b *bundle) router() *routed {
	b.Helper()
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: 20 * time.Second}, watermill.NopLogger{})
	if err != nil {
		b.Fatal(err)
	}
	return &routed{bundle: b, router: router, sink: &published{}, own: &published{}}
}

// attached is what config needs to be for Attach.
func (r *routed) attached() consumer.Config {
	config := r.config()
	config.Source, config.Name, config.Sink = nil, "test", r.sink
	return config
}

func (r *routed) attach(config consumer.Config, inside ...message.HandlerMiddleware) {
	r.Helper()
	c, err := consumer.Attach(r.router, r.st, config, inside...)
	if err != nil {
		r.Fatal(err)
	}
	r.c = c
}

// run starts the Router, to the end of the test at the latest.
func (r *routed) run() {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r.ran, r.cancel = make(chan error, 1), cancel
	go func() { r.ran <- r.router.Run(ctx) }()
	<-r.router.Running()
	r.Cleanup(func() {
		_ = r.close()
		_ = r.src.Close() // a second time, where the Router has closed it
	})
}

// close closes the Router as a program does, waits for Run, and returns its error and
// what the Consumer says.
func (r *routed) close() error {
	r.Helper()
	if r.cancel == nil {
		return nil
	}
	err := r.router.Close()
	r.cancel()
	r.cancel = nil
	return errors.Join(err, r.await(r.ran))
}

func (r *routed) await(ran chan error) error {
	r.Helper()
	select {
	case err := <-ran:
		return err
	case <-time.After(30 * time.Second):
		r.Fatal("Router.Run did not return")
		return nil
	}
}

// effect inserts the effect of m through the transaction in its context.
func effect(m *message.Message) error {
	tx, ok := headrace.TxFrom(m.Context())
	if !ok {
		return errors.New("no transaction in the message's context")
	}
	_, err := tx.ExecContext(m.Context(), "INSERT INTO effects (seq, msg) VALUES (1, $1)", m.UUID)
	return err
}

// answer has an effect and returns a message.
func answer(m *message.Message) ([]*message.Message, error) {
	if err := effect(m); err != nil {
		return nil, err
	}
	out := message.NewMessage("answer to "+m.UUID, []byte("made from "+string(m.Payload)))
	out.Metadata.Set("name", "value")
	return []*message.Message{out}, nil
}

// Delivered three times, applied once; what the handler returns is published by the
// relay, and nothing by the Router.
//
//evidence:attach
func TestAttachAppliesOnce(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		r := b.router()
		r.router.AddHandler("invoices", topic, b.src, reply, r.own, answer)
		r.attach(r.attached())
		r.run()
		for range 3 {
			b.acked(b.deliver("m1", `{"n":1}`))
		}
		b.eventually("the answer", func() bool { return r.sink.count() == 1 })
		if err := r.c.Ready(); err != nil {
			b.Error(err)
		}
		if err := r.close(); err != nil {
			b.Error(err)
		}
		got := r.sink.list[0]
		if r.sink.topics[0] != reply || got.UUID != "answer to m1" || string(got.Payload) != `made from {"n":1}` || got.Metadata.Get("name") != "value" {
			b.Errorf("published %s on %q: %q %v", got.UUID, r.sink.topics[0], got.Payload, got.Metadata)
		}
		if n := b.effects("m1"); n != 1 || r.own.count() != 0 || r.sink.count() != 1 {
			b.Errorf("%d effects, the Router published %d, the relay %d", n, r.own.count(), r.sink.count())
		}
		s := r.c.Stats()
		if s.Delivered != 3 || s.Applied != 1 || s.Duplicates != 2 || s.InFlight != 0 {
			b.Errorf("%+v", s)
		}
		entry, err := b.st.Inbox().Find(b.Context(), "m1")
		if err != nil || len(entry) != 1 || entry[0].Scope != "test/invoices" {
			b.Errorf("inbox: %+v, %v", entry, err)
		}
	})
}

// A handler may have no Publisher; what others have put around it is called all the same.
//
//evidence:attach
func TestAttachWithoutAPublisher(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		r := b.router()
		r.router.AddPublisherDecorators(message.MessageTransformPublisherDecorator(func(*message.Message) {}))
		r.router.AddHandler("invoices", topic, b.src, reply, nil, answer)
		r.attach(r.attached())
		r.run()
		b.acked(b.deliver("m1", `{"n":1}`))
		b.eventually("the answer", func() bool { return r.sink.count() == 1 })
		if err := r.close(); err != nil {
			b.Error(err)
		}
	})
}

// Each attempt has a message of its own, with the Router's values in its context, also
// from the backlog, where no Router is; and what it returns then is published as well.
//
//evidence:attach
func TestAttachRunsAgain(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		r := b.router()
		var n runs
		seen := make(chan string, 10)
		r.router.AddHandler("invoices", topic, b.src, reply, r.own, func(m *message.Message) ([]*message.Message, error) {
			ctx := m.Context()
			seen <- fmt.Sprint(string(m.Payload), m.Metadata, m.UUID, message.HandlerNameFromCtx(ctx),
				message.SubscribeTopicFromCtx(ctx), message.PublishTopicFromCtx(ctx), headrace.ArrivalFrom(ctx).Coordinates, ctx.Err())
			out, err := answer(m)
			m.Payload[0], m.UUID = 'x', "other"
			m.Metadata.Set("more", "1")
			if n.next("m1") < 3 {
				return nil, errBoom
			}
			return out, err
		})
		r.attach(r.attached())
		r.run()
		m := message.NewMessage("m1", []byte("{}"))
		m.Metadata.Set("k", "v")
		m.SetContext(headrace.WithArrival(m.Context(), headrace.Arrival{Coordinates: headrace.Coordinates{Broker: "kafka", Position: "7"}}))
		b.src.DeliverMessage(topic, m)
		b.acked(m)
		b.eventually("the answer", func() bool { return r.sink.count() == 1 })
		want := fmt.Sprint("{}", message.Metadata{"k": "v"}, "m1", "invoices", topic, reply, headrace.Coordinates{Broker: "kafka", Position: "7"}, nil)
		for i := range 3 {
			if got := <-seen; got != want {
				b.Errorf("attempt %d was given %s, want %s", i+1, got, want)
			}
		}
		if b.effects("m1") != 1 || r.sink.topics[0] != reply || r.c.Stats().BacklogApplied != 1 {
			b.Errorf("%d effects, published on %q, %+v", b.effects("m1"), r.sink.topics[0], r.c.Stats())
		}
	})
}

// A message that cannot be applied is a dead letter, and a redrive runs the handler and
// publishes what it returns where the Router would have.
//
//evidence:attach
func TestAttachRedrives(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		r := b.router()
		var mended sync.Map
		r.router.AddHandler("invoices", topic, b.src, reply, r.own, func(m *message.Message) ([]*message.Message, error) {
			if _, ok := mended.Load("yes"); !ok {
				return nil, retry.Permanent(errBoom)
			}
			return answer(m)
		})
		r.attach(r.attached())
		r.run()
		b.acked(b.deliver("m1", "{}"))
		b.eventually("the letter's copy", func() bool { return r.sink.count() == 1 })
		if b.state("m1") != inbox.Dead || r.sink.topics[0] != topic+".dead" {
			b.Errorf("%s, a copy on %q", b.state("m1"), r.sink.topics[0])
		}
		mended.Store("yes", true)
		admin := redrive.New(b.st)
		if _, err := admin.Redrive(b.Context(), redrive.Request{Filter: dlq.Filter{Key: "m1"}, By: "ann", Reason: "mended"}); err != nil {
			b.Fatal(err)
		}
		b.eventually("the answer", func() bool { return r.sink.count() == 2 })
		if b.effects("m1") != 1 || r.sink.topics[1] != reply {
			b.Errorf("%d effects, published on %q", b.effects("m1"), r.sink.topics[1])
		}
	})
}

// What a handler returns without a publish topic, nil messages, and Nack on the message
// are failures that say so.
func TestAttachRefusesWhatCannotBePublished(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f    message.HandlerFunc
		want string
	}{
		"no topic": {message.PassthroughHandler, "has no publish topic"},
		"nil":      {func(*message.Message) ([]*message.Message, error) { return []*message.Message{nil}, nil }, "is nil"},
		"nack":     {func(m *message.Message) ([]*message.Message, error) { m.Nack(); return nil, nil }, "called Nack"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupSQLite(t)
			r := b.router()
			replyTo := ""
			if name == "nil" {
				replyTo = reply
			}
			r.router.AddHandler("h", topic, b.src, replyTo, r.own, c.f)
			config := r.attached()
			config.Retry = retry.Policy{MaxAttempts: 1}
			r.attach(config)
			r.run()
			b.acked(b.deliver("m1", "{}"))
			list, err := b.st.Letters().List(b.Context(), dlq.Filter{}, 0, 10)
			if err != nil || len(list) != 1 || !strings.Contains(list[0].Error, c.want) {
				b.Errorf("letters %+v, %v", list, err)
			}
		})
	}
}

// Inside middlewares see each attempt, outside ones only deliveries.
func TestAttachInsideAndOutside(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	var mu sync.Mutex
	var calls []string
	tell := func(name string) message.HandlerMiddleware {
		return func(next message.HandlerFunc) message.HandlerFunc {
			return func(m *message.Message) ([]*message.Message, error) {
				mu.Lock()
				calls = append(calls, name)
				mu.Unlock()
				return next(m)
			}
		}
	}
	r.router.AddMiddleware(tell("outside"))
	var n runs
	r.router.AddConsumerHandler("h", topic, b.src, func(m *message.Message) error {
		if n.next("m1") < 3 {
			return errBoom
		}
		return effect(m)
	})
	r.attach(r.attached(), tell("first"), tell("second"))
	r.run()
	b.acked(b.deliver("m1", "{}"))
	b.eventually("the effect", func() bool { return b.effects("m1") == 1 })
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(calls, " "); got != "outside first second first second first second" {
		b.Error(got)
	}
}

func TestAttachConfig(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	handled := func(r *routed) {
		r.router.AddConsumerHandler("h", topic, b.src, effect)
	}
	for _, c := range []struct {
		want  string
		setup func(r *routed, config *consumer.Config)
	}{
		{"Config.Name is empty", func(r *routed, c *consumer.Config) { handled(r); c.Name = "" }},
		{"contains a slash", func(r *routed, c *consumer.Config) { handled(r); c.Name = "a/b" }},
		{"Config.Source is set", func(r *routed, c *consumer.Config) { handled(r); c.Source = b.src }},
		{"Config.MaxBatch is set", func(r *routed, c *consumer.Config) { handled(r); c.MaxBatch = 2 }},
		{"Config.BatchTime is set", func(r *routed, c *consumer.Config) { handled(r); c.BatchTime = time.Second }},
		{"Config.Sink is nil", func(r *routed, c *consumer.Config) { handled(r); c.Sink = nil }},
		{"no handlers", func(r *routed, c *consumer.Config) {}},
		{"negative", func(r *routed, c *consumer.Config) { handled(r); c.NackPause = -1 }},
		{"handler name", func(r *routed, c *consumer.Config) {
			r.router.AddConsumerHandler(strings.Repeat("x", 121), topic, b.src, effect)
		}},
		{"was closed", func(r *routed, c *consumer.Config) { _ = r.router.Close(); handled(r) }},
	} {
		r := b.router()
		config := r.attached()
		c.setup(r, &config)
		if _, err := consumer.Attach(r.router, b.st, config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if _, err := consumer.New("a", b.st, consumer.Config{Source: b.src, Name: "b"}); err == nil || !strings.Contains(err.Error(), "Config.Name") {
		t.Errorf("New with another Config.Name: %v", err)
	}
	var none *message.Router
	if _, err := consumer.Attach(none, b.st, consumer.Config{Name: "a"}); err == nil {
		t.Error("a nil Router")
	}
}

// A Router that runs, Run of the Consumer, and what is added after Attach are refused.
func TestAttachTooLate(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	r.router.AddConsumerHandler("h", topic, b.src, effect)
	r.attach(r.attached())
	if err := r.c.Run(b.Context()); err == nil || !strings.Contains(err.Error(), "attached to a Router") {
		t.Errorf("Run: %v", err)
	}
	if err := r.c.Wait(b.Context()); !errors.Is(err, consumer.ErrNotRunning) {
		t.Errorf("Wait: %v", err)
	}
	r.run()
	if _, err := consumer.Attach(r.router, b.st, r.attached()); err == nil || !strings.Contains(err.Error(), "runs already") {
		t.Errorf("Attach: %v", err)
	}

	late := b.router()
	late.router.AddConsumerHandler("h", topic, b.src, effect)
	late.attach(late.attached())
	late.router.AddConsumerHandler("later", topic, b.src, effect)
	if err := late.router.Run(b.Context()); err == nil || !strings.Contains(err.Error(), "later") {
		t.Errorf("Router.Run: %v", err)
	}
}

// outcome waits for what became of m.
func (b *bundle) outcome(m *message.Message) bool {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 30*time.Second)
	defer cancel()
	acked, err := memsource.Outcome(ctx, m)
	if err != nil {
		b.Fatal(err)
	}
	return acked
}
