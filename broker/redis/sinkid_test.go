package redis

import (
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

// The relay stores and shows the id of a sink: it has the address, and no user or password.
func TestSinkID(t *testing.T) {
	client := goredis.NewClient(&goredis.Options{Addr: "cache:6379", DB: 2, Username: "user", Password: "secret"})
	defer func() { _ = client.Close() }()
	s, err := NewSink(SinkOptions{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.SinkID(); got != "redis:cache:6379/2" {
		t.Errorf("%q", got)
	}
}
