package consumer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/outbox"
)

// Fault 7 at a stop: the error of Run names the handlers that were left behind, and with
// how many messages; it shows no key, id or payload. What hangs, handlers and sink, shares one
// time: it does not add up.
//
//evidence:stop
func TestRunNamesWhoWasLeftBehind(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		goOn, begun := make(chan struct{}), make(chan struct{}, 10)
		config := b.config()
		config.DrainTimeout = time.Second
		config.Sink = hangingSink{begun, goOn}
		c := b.consumer(config)
		consumer.HandleLeased(c, "slow", func(context.Context, *headrace.Message[body]) (headrace.Effects, error) {
			begun <- struct{}{}
			<-goOn
			return nil, nil
		})
		consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error {
			begun <- struct{}{}
			<-goOn
			return nil
		})
		consumer.Handle(c, "other", insert)
		b.start(c)
		b.must(b.inTx(func(ctx context.Context, tx headrace.Execer) error {
			return outbox.New(b.st.Outbox()).Publish(ctx, tx, headrace.Event{Topic: "paid", Payload: []byte("{}")})
		}))
		<-begun
		b.acked(b.src.Deliver("slow", "canary-1", []byte(`{}`), nil), b.src.Deliver("slow", "canary-2", []byte(`{}`), nil))
		<-begun
		<-begun
		b.deliver("canary-3", `{}`)
		<-begun
		stopped := time.Now()
		err := b.halt()
		if took := time.Since(stopped); took > config.DrainTimeout+8*time.Second {
			b.Errorf("the stop took %s: the times of the handlers, the sink and the alerts add up", took)
		}
		close(goOn)
		if !errors.Is(err, consumer.ErrDrainTimeout) || !strings.Contains(err.Error(), `still run: "orders.paid" (messages: 1), "slow" (messages: 2): still`) {
			b.Errorf("Run returned %v", err)
		}
		if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "other") {
			b.Errorf("Run returned %v", err)
		}
		b.eventually("no call is left", func() bool { return consumer.LeftBehind(c) == 0 })
	})
}

// hangingSink says that a call has begun, and returns when it may go on.
type hangingSink struct{ begun, goOn chan struct{} }

func (s hangingSink) Publish(string, ...*message.Message) error {
	s.begun <- struct{}{}
	<-s.goOn
	return nil
}

func (hangingSink) Close() error { return nil }

// With Attach, Wait says it.
func TestWaitNamesWhoWasLeftBehind(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	r := b.router()
	config := r.attached()
	config.DrainTimeout = 10 * time.Millisecond
	goOn, begun := make(chan struct{}), make(chan struct{})
	r.router.AddConsumerHandler("invoices", topic, b.src, func(*message.Message) error {
		close(begun)
		<-goOn
		return nil
	})
	r.attach(config)
	r.run()
	b.deliver("canary", `{}`)
	<-begun
	closed := make(chan error, 1)
	go func() { closed <- r.close() }()
	err := r.c.Wait(b.Context())
	close(goOn)
	if !errors.Is(err, consumer.ErrDrainTimeout) || !strings.Contains(err.Error(), `still run: "invoices" (messages: 1): still`) ||
		strings.Contains(err.Error(), "canary") {
		b.Errorf("Wait returned %v", err)
	}
	if err := <-closed; err != nil {
		b.Error(err)
	}
	b.eventually("no call is left", func() bool { return consumer.LeftBehind(r.c) == 0 })
}
