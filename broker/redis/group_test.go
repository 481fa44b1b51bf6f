package redis

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/broker/brokertest"
)

// TestSweepLeavesOwners: a consumer that was given an entry since it was looked at is not
// removed, since its entry would have no owner then. TRAPS, redisstream: removes idle
// consumers. Guard: sweep.lua.
//
//evidence:redis
func TestSweepLeavesOwners(t *testing.T) {
	addr := brokertest.Variable(t, "HEADRACE_TEST_REDIS", "redis")
	client := goredis.NewClient(&goredis.Options{Addr: addr})
	stream := "sweep-" + uuid.NewString()
	t.Cleanup(func() {
		client.Del(context.Background(), stream)
		_ = client.Close()
	})
	s, err := NewSource(SourceOptions{Client: client, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	u := newSubscription(s, stream, 1)
	if err := u.makeGroup(t.Context()); err != nil {
		t.Fatal(err)
	}
	client.XAdd(t.Context(), &goredis.XAddArgs{Stream: stream, Values: []any{"payload", "x"}})
	client.XReadGroup(t.Context(), &goredis.XReadGroupArgs{Group: "g", Consumer: namePrefix + "owner", Streams: []string{stream, ">"}})
	client.XGroupCreateConsumer(t.Context(), stream, "g", namePrefix+"idle")
	client.XGroupCreateConsumer(t.Context(), stream, "g", "foreign")
	if err := sweepScript.Run(t.Context(), client, []string{stream}, "g", namePrefix+"owner").Err(); err != nil {
		t.Fatal(err)
	}
	if err := u.sweep(t.Context(), namePrefix, time.Hour); err != nil { // no owner is silent for so long
		t.Fatal(err)
	}
	if n := len(client.XInfoConsumers(t.Context(), stream, "g").Val()); n != 3 {
		t.Fatalf("%d consumers are left", n)
	}
	if err := u.sweep(t.Context(), namePrefix, 0); err != nil {
		t.Fatal(err)
	}
	left := client.XInfoConsumers(t.Context(), stream, "g").Val()
	if len(left) != 2 || left[0].Name != "foreign" || left[1].Pending != 1 {
		t.Errorf("%+v", left)
	}
}
