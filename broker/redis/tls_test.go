package redis_test

import (
	"context"
	"crypto/tls"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/redis"
	"github.com/headrace/headrace/consumer"
)

// rightsNeeded are the commands that doc.go lists.
var rightsNeeded = []string{
	"info", "multi", "exec", "eval", "evalsha", "xack", "xadd", "xautoclaim", "xclaim", "xdel", "xgroup", "xinfo", "xlen", "xpending", "xrange", "xreadgroup",
}

// A user with a password and no other rights than doc.go lists sends and receives
// over TLS, which the test ends before the real server; an unknown server is refused.
func TestTLSAndUser(t *testing.T) {
	b := newStream(t)
	addr, authorities := brokertest.TerminateTLS(t, b.addr)
	rights := []any{"ACL", "SETUSER", b.topic, "on", ">secret", "resetkeys", "resetchannels", "~" + b.topic, "-@all"}
	for _, command := range rightsNeeded {
		rights = append(rights, "+"+command)
	}
	if err := b.client.Do(t.Context(), rights...).Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.client.Do(context.Background(), "ACL", "DELUSER", b.topic) })
	secure := goredis.NewClient(&goredis.Options{
		Addr: addr, Username: b.topic, Password: "secret", TLSConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
	})
	t.Cleanup(func() { _ = secure.Close() })
	sink, err := redis.NewSink(redis.SinkOptions{Client: secure})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	if err := sink.Publish(b.topic, message.NewMessage("1", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	s := b.source(redis.SourceOptions{Client: secure})
	if err := s.Check(t.Context(), b.topic, consumer.Demands{InFlight: 8}); err != nil {
		t.Fatal(err)
	}
	m := b.next(b.subscribe(s))
	if m.UUID != "1" {
		t.Errorf("got %q", m.UUID)
	}
	m.Ack()
	b.emptied()
	if err := s.Healthy(t.Context(), b.topic); err != nil {
		t.Error(err)
	}
	if _, err := s.Lag(t.Context(), b.topic); err != nil {
		t.Error(err)
	}
	unknown := goredis.NewClient(&goredis.Options{Addr: addr, MaxRetries: -1, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}})
	defer func() { _ = unknown.Close() }()
	if err := unknown.Ping(t.Context()).Err(); err == nil {
		t.Error("a server that no authority knows is accepted")
	}
}
