package redis_test

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/redis"
)

// TestHealthy: a source whose user may not read, or not acknowledge, is unhealthy, also
// while it is paused, and healthy again without help. Guards: subscription.Healthy, alive.
func TestHealthy(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	user := "u" + b.topic
	acl := func(rules ...any) {
		t.Helper()
		if err := b.client.Do(t.Context(), append([]any{"ACL", "SETUSER", user}, rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	acl("on", "nopass", "~*", "&*", "+@all")
	t.Cleanup(func() { _ = b.client.Do(t.Context(), "ACL", "DELUSER", user).Err() })
	client := goredis.NewClient(&goredis.Options{Addr: b.addr, Username: user, Password: "any", Protocol: 2})
	t.Cleanup(func() { _ = client.Close() })
	s := b.source(redis.SourceOptions{Client: client})
	healthy := func(want bool) { t.Helper(); brokertest.AwaitHealthy(t, s, b.topic, want) }
	healthy(true)
	messages := b.subscribe(s)
	healthy(true)

	acl("-xreadgroup")
	healthy(false)
	acl("+xreadgroup")
	healthy(true)

	b.add("payload", "1")
	m := b.next(messages)
	acl("-xack")
	m.Ack()
	healthy(false)
	acl("+xack")
	healthy(true)
	b.emptied()

	s.Pause(b.topic)
	acl("-xack")
	healthy(false)
	acl("+xack")
	healthy(true)
}
