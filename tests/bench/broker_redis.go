package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"
	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/broker/redis"
)

var redisKind = brokerKind{
	name: "redis", service: "redis", variable: "HEADRACE_TEST_REDIS",
	connect: func(address string) brokerFixture {
		return redisFixture{goredis.NewClient(&goredis.Options{Addr: address})}
	},
}

// redisFixture has one group for everything that is measured.
type redisFixture struct{ client *goredis.Client }

const redisGroup = "bench"

func (r redisFixture) create(ctx context.Context, topic string) error {
	err := r.client.XGroupCreateMkStream(ctx, topic, redisGroup, "0").Err()
	if err != nil && !goredis.HasErrorPrefix(err, "BUSYGROUP") {
		return errors.Join(errors.New("create the stream"), err)
	}
	return nil
}

func (r redisFixture) sink() (message.Publisher, error) {
	return redis.NewSink(redis.SinkOptions{Client: r.client})
}

func (r redisFixture) source(inFlight int) (message.Subscriber, error) {
	return redis.NewSource(redis.SourceOptions{
		Client: r.client, Group: redisGroup, InFlight: inFlight, Delete: true, Logger: slog.New(slog.DiscardHandler),
	})
}
