package consumer_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

// A registration after Run has begun changes nothing of the run. It is logged, and Run
// returns it. It ended the process at the stop.
func TestLateRegistration(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		log := &lines{}
		config := b.config()
		config.Logger = slog.New(slog.NewTextHandler(log, nil))
		c := b.consumer(config)
		consumer.Handle(c, topic, insert)
		b.start(c)
		b.acked(b.deliver("before", `{}`))
		consumer.Handle(c, "late", insert, consumer.Local())
		consumer.HandleLeased(c, "later", leasedNothing)
		b.acked(b.deliver("after", `{}`))
		if err := c.Ready(); err != nil || len(c.Subscriptions()) != 1 {
			b.Errorf("Ready: %v, %d subscriptions", err, len(c.Subscriptions()))
		}
		for what, err := range map[string]error{"Err": c.Err(), "Run": b.halt()} {
			if !errors.Is(err, consumer.ErrRunning) || !strings.Contains(err.Error(), `"late"`) || !strings.Contains(err.Error(), `"later"`) {
				b.Errorf("%s: %v", what, err)
			}
		}
		if text := log.String(); strings.Count(text, "level=ERROR") != 2 || !strings.Contains(text, "handler=late\n") {
			b.Errorf("logged: %s", text)
		}
	})
}

// A handler cannot be registered with a consumer of Attach: Wait returns that.
func TestRegistrationAfterAttach(t *testing.T) {
	b := setupSQLite(t)
	r := b.router()
	r.router.AddConsumerHandler("h", topic, b.src, effect)
	r.attach(r.attached())
	consumer.Handle(r.c, "late", insert, consumer.Local())
	r.run()
	b.acked(b.deliver("m", `{}`))
	if err := errors.Join(r.close(), r.c.Wait(t.Context())); !errors.Is(err, consumer.ErrRunning) || !strings.Contains(err.Error(), `"late"`) {
		t.Errorf("Wait: %v", err)
	}
}

// Two consumers of one name on one store are refused before they run: what belongs to the
// handlers of one would wait at the other.
//
//evidence:refused-at-start
func TestRunOfOneNameTwice(t *testing.T) {
	b := setupSQLite(t)
	first, second := b.consumer(b.local()), b.consumer(b.local())
	consumer.Handle(first, "t", insert, consumer.Local())
	consumer.Handle(second, "u", insert, consumer.Local())
	err := consumer.Run(t.Context(), first, second)
	for _, want := range []string{`consumers 1 and 2 of 2`, `"test"`, `"t"`, `"u"`, "register the handlers of both with one consumer", "two names"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v", want, err)
		}
	}
	if err := consumer.Run(t.Context(), first, first); err == nil || !strings.Contains(err.Error(), "are the same consumer") {
		t.Errorf("one twice: %v", err)
	}
	other, err := consumer.New("other", b.st, b.local())
	if err != nil {
		t.Fatal(err)
	}
	consumer.Handle(other, "u", insert, consumer.Local())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx, first, other) }()
	b.eventually("two names run", func() bool { return first.Ready() == nil && other.Ready() == nil })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The same where each is run by itself. With the same handlers they are as two processes.
//
//evidence:refused-at-start
func TestSecondRunOfTheName(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		first := b.consumer(b.local())
		consumer.Handle(first, "t", insert, consumer.Local())
		b.start(first)
		b.eventually("the first is ready", func() bool { return first.Ready() == nil })
		other := b.consumer(b.local())
		consumer.Handle(other, "u", insert, consumer.Local())
		err := other.Run(b.Context())
		for _, want := range []string{"consumer test: ", `"t"`, `"u"`, "one consumer", "two names"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				b.Errorf("without %s: %v", want, err)
			}
		}
		same := b.consumer(b.local())
		consumer.Handle(same, "t", insert, consumer.Local())
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- same.Run(ctx) }()
		b.eventually("one with the same handlers runs", func() bool { return same.Ready() == nil })
		b.publish(headrace.Event{Topic: "t", ID: "m", Value: body{}, Local: true})
		b.applied("m")
		stop()
		if err := errors.Join(<-ended, b.halt()); err != nil {
			b.Error(err)
		}
		later := b.consumer(b.local())
		consumer.Handle(later, "u", insert, consumer.Local())
		b.start(later)
		b.eventually("after their end another one runs", func() bool { return later.Ready() == nil })
	})
}
