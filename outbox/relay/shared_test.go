package relay_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/retry"
)

// DESIGN §3 Relay: one relay per store and process, shared by its consumers, from
// the first to the last.
//
//evidence:one-relay
func TestTheSharedRelay(t *testing.T) {
	onEach(t, func(b *bundle) {
		ctx := context.Background()
		first, release1, err := relay.Acquire(ctx, b.st, b.sink, "billing", b.options())
		if err != nil {
			b.Fatal(err)
		}
		second, release2, err := relay.Acquire(ctx, b.st, b.sink, "billing", relay.Options{})
		if err != nil || second != first {
			b.Fatalf("a second relay was made: %v", err)
		}
		if _, _, err := relay.Acquire(ctx, b.st, &freeSink{}, "billing", relay.Options{}); !errors.Is(err, relay.ErrOtherSink) {
			b.Errorf("another sink: %v, want ErrOtherSink", err)
		}
		if _, _, err := relay.Acquire(ctx, b.st, incomparable{}, "billing", relay.Options{}); !errors.Is(err, relay.ErrOtherSink) {
			b.Errorf("a sink that cannot be compared: %v, want ErrOtherSink", err)
		}
		if err := release1(ctx); err != nil {
			b.Error(err)
		}
		if err := release1(ctx); err != nil { // counts once
			b.Error(err)
		}
		b.publish(event("t", "", "one"))
		b.untilEmpty()
		if err := release2(ctx); err != nil {
			b.Error(err)
		}
		if err := first.Run(cancelled()); err != nil {
			b.Errorf("the relay still runs after the last release: %v", err)
		}
		_, release3, err := relay.Acquire(ctx, b.st, &freeSink{}, "billing", relay.Options{})
		if err != nil {
			b.Fatalf("another sink, after the last release: %v", err)
		}
		if err := release3(ctx); err != nil {
			b.Error(err)
		}
	})
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

type incomparable struct{ _ []int }

func (incomparable) Publish(string, ...*message.Message) error { return nil }
func (incomparable) Close() error                              { return nil }

// The last release waits no longer than its context, and the next relay of the
// store begins after the old one has ended.
func TestAReleaseThatHasToWait(t *testing.T) {
	onEach(t, func(b *bundle) {
		ctx := context.Background()
		hung := b.hang("t")
		defer hung()
		_, release, err := relay.Acquire(ctx, b.st, b.sink, "billing", b.options())
		if err != nil {
			b.Fatal(err)
		}
		b.publish(event("t", "", "one"))
		b.untilPolling("it is being published", func() bool { calls, _ := b.sink.called(); return calls == 1 })
		if err := release(cancelled()); !errors.Is(err, context.Canceled) {
			b.Errorf("release under a cancelled context: %v", err)
		}
		_, release, err = relay.Acquire(ctx, b.st, b.sink, "billing", b.options())
		if err != nil {
			b.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // it must not begin yet: there is no signal for that
		hung()
		b.untilEmpty()
		if n := b.sink.times("one"); n != 1 {
			b.Errorf("published %d times, want once", n)
		}
		if err := release(context.Background()); err != nil {
			b.Error(err)
		}
	})
}

// The constructor names the option that cannot be meant.
func TestOptionsAreChecked(t *testing.T) {
	st := sqliteDB(t)(t)
	for want, o := range map[string]relay.Options{
		"Workers":        {Workers: -1},
		"Workers is 65":  {Workers: outbox.Shards + 1},
		"BatchRows":      {BatchRows: -1},
		"PublishTimeout": {PublishTimeout: -time.Second},
		"MinPoll":        {MinPoll: time.Minute, MaxPoll: time.Second},
		"Backoff":        {Backoff: retry.Backoff{Initial: time.Minute, Max: time.Second}},
	} {
		o.SinkID = "free"
		if _, err := relay.New(st, &freeSink{}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := relay.New(st, &freeSink{}, relay.Options{}); err == nil || !strings.Contains(err.Error(), "SinkID") {
		t.Errorf("a sink without an identity: %v", err)
	}
	if _, err := relay.New(st, nil, relay.Options{SinkID: "free"}); err == nil {
		t.Error("no sink was accepted")
	}
	if _, err := relay.New(nil, &freeSink{}, relay.Options{SinkID: "free"}); err == nil {
		t.Error("no store was accepted")
	}
}
