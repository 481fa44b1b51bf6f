package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/broker/redis"
)

// TestOwnClaim: where the beats do not reach the server, a source claims what it works on
// from itself, and does not hand it out again. Guard: flight.add.
func TestOwnClaim(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	client := newClient(b.addr)
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(beatless{})
	messages := b.subscribe(b.source(redis.SourceOptions{Client: client, ClaimAfter: time.Second}))
	b.add("payload", "slow")
	m := b.next(messages)
	b.none(messages, 3*time.Second)
	m.Ack()
	b.emptied()
}

// beatless lets no beat through.
type beatless struct{}

func (beatless) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (beatless) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if cmd.Name() == "xclaim" {
			err := errors.New("the network is slow today")
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (beatless) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}
