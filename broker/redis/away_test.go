package redis_test

import (
	"context"
	"errors"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/broker/redis"
	"github.com/headrace/headrace/consumer"
)

// waited is a context for which each context made of it has a goroutine, until that ends.
type waited struct {
	context.Context
	done chan struct{}
}

func (w waited) Done() <-chan struct{} { return w.done }

// A Subscribe that fails leaves nothing at its context: a consumer repeats it for as long as
// Redis is away. Guard: Source.Subscribe.
func TestSubscribeLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	client := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1}) // nothing listens there
	source, err := redis.NewSource(redis.SourceOptions{Client: client, Group: "group"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := source.Subscribe(waited{t.Context(), make(chan struct{})}, "topic"); !errors.Is(err, consumer.ErrUnavailable) {
			t.Fatalf("subscribe: %v", err)
		}
	}
	if err := errors.Join(source.Close(), client.Close()); err != nil {
		t.Fatal(err)
	}
	// The client tries to connect for a second longer.
	goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// A source that is closed takes its own name out of the group, and no name that begins with
// it. Guard: subscription.remove.
func TestCloseRemovesItsOwnName(t *testing.T) {
	b := newStream(t)
	one, other := b.source(redis.SourceOptions{Name: "worker-1"}), b.source(redis.SourceOptions{Name: "worker-10"})
	for _, s := range []*redis.Source{one, other} {
		messages := b.subscribe(s)
		b.add("payload", "x")
		b.next(messages).Ack()
		b.emptied()
		s.Pause(b.topic) // it reads no more, which would make it a consumer again
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := b.client.XInfoConsumers(t.Context(), b.topic, "group").Result()
	if err != nil || len(list) != 1 || list[0].Name != "worker-10" {
		t.Errorf("%+v, %v", list, err)
	}
}
