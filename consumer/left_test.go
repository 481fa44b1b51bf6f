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
)

// Fault 7 at a stop: the error of Run names the handlers that were left behind, and with
// how many messages; it shows no key, id or payload.
func TestRunNamesWhoWasLeftBehind(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		goOn, begun := make(chan struct{}), make(chan struct{}, 10)
		config := b.config()
		config.DrainTimeout = 10 * time.Millisecond
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
		b.acked(b.src.Deliver("slow", "canary-1", []byte(`{}`), nil), b.src.Deliver("slow", "canary-2", []byte(`{}`), nil))
		<-begun
		<-begun
		b.deliver("canary-3", `{}`)
		<-begun
		err := b.halt()
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
