package redis_test

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/broker/redis"
)

// healthy waits until Healthy of the topic is as it should be.
func (b *bundle) healthy(s *redis.Source, want bool) {
	b.Helper()
	for end := time.Now().Add(patience); ; {
		err := s.Healthy(b.Context(), b.topic)
		if (err == nil) == want {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("healthy: %v", err)
		}
		time.Sleep(20 * time.Millisecond) // it is asked, as the consumer asks
	}
}

// TestHealthy: a source whose user may not read, or not acknowledge, is unhealthy, also
// while it is paused, and healthy again without help. Guards: subscription.healthy, question.
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
	b.healthy(s, true)
	messages := b.subscribe(s)
	b.healthy(s, true)

	acl("-xreadgroup")
	b.healthy(s, false)
	acl("+xreadgroup")
	b.healthy(s, true)

	b.add("payload", "1")
	m := b.next(messages)
	acl("-xack")
	m.Ack()
	b.healthy(s, false)
	acl("+xack")
	b.healthy(s, true)
	b.emptied()

	s.Pause(b.topic)
	acl("-xack")
	b.healthy(s, false)
	acl("+xack")
	b.healthy(s, true)
}
