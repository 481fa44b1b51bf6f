package redis_test

import (
	"errors"
	"strings"
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
	client.AddHook(hook{before: func(cmd goredis.Cmder) error {
		if cmd.Name() == "xclaim" && strings.Contains(cmd.String(), "JUSTID") {
			return errors.New("the network is slow today")
		}
		return nil
	}})
	messages := b.subscribe(b.source(redis.SourceOptions{Client: client, ClaimAfter: time.Second}))
	b.add("payload", "slow")
	m := b.next(messages)
	b.none(messages, 3*time.Second)
	m.Ack()
	b.emptied()
}
