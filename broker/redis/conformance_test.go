package redis_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	goredis "github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/redis"
)

// broker is Redis, with redis-cli as the foreign client.
type broker struct{ addr string }

var conforming = broker{addr: os.Getenv(variable)}

// Watermill's suite multiplies a subscriber by goroutines of its own that do not end.
func TestMain(m *testing.M) {
	const multiplier = "github.com/ThreeDotsLabs/watermill/internal/subscriber.(*multiplier).Subscribe."
	brokertest.Main(m, conforming, goleak.IgnoreAnyFunction(multiplier+"func2"), goleak.IgnoreAnyFunction(multiplier+"func3"))
}

// TestConformance is our own suite.
//
//evidence:redis
func TestConformance(t *testing.T) {
	brokertest.Variable(t, variable, "redis")
	brokertest.Run(t, conforming)
}

func (b broker) Addr() string { return b.addr }

func (b broker) Create(ctx context.Context, topic string) error {
	_, err := cli(ctx, b.addr, "XGROUP", "CREATE", topic, "group", "0", "MKSTREAM")
	return err
}

func (b broker) Source(addr string) (message.Subscriber, error) {
	client := newClient(cmp.Or(addr, b.addr))
	s, err := redis.NewSource(redis.SourceOptions{
		Client: client, Group: "group", InFlight: 64, ClaimAfter: 3 * time.Second, ClaimEvery: 100 * time.Millisecond, Block: 100 * time.Millisecond,
	})
	return closing{s, client.Close}, err
}

// closing closes the client after the source.
type closing struct {
	*redis.Source
	client func() error
}

func (c closing) Close() error {
	_ = c.Source.Close()
	return c.client()
}

type closingSink struct {
	*redis.Sink
	client func() error
}

func (c closingSink) Close() error {
	_ = c.Sink.Close()
	return c.client()
}

func (b broker) Sink(addr string) (message.Publisher, error) {
	client := newClient(cmp.Or(addr, b.addr))
	s, err := redis.NewSink(redis.SinkOptions{Client: client})
	return closingSink{s, client.Close}, err
}

func (b broker) Send(ctx context.Context, topic string, records ...brokertest.Record) error {
	for _, r := range records {
		args := []string{"XADD", topic, "*"}
		for name, value := range r.Headers {
			args = append(args, name, value)
		}
		if _, err := cli(ctx, b.addr, append(args, "payload", string(r.Payload))...); err != nil {
			return err
		}
	}
	return nil
}

func (b broker) Read(ctx context.Context, topic string) (r brokertest.Record, err error) {
	client := newClient(b.addr)
	defer func() { _ = client.Close() }()
	streams, err := client.XRead(ctx, &goredis.XReadArgs{Streams: []string{topic, "0"}, Count: 1, Block: time.Minute}).Result()
	if err != nil {
		return r, err
	}
	entry := streams[0].Messages[0]
	r = brokertest.Record{ID: entry.ID, Headers: map[string]string{}}
	for name, value := range entry.Values {
		switch text := value.(string); name {
		case redis.PayloadField:
			r.Payload = []byte(text)
		case redis.MetadataField: // the sender's own headers
			err = msgpack.Unmarshal([]byte(text), &r.Headers)
		}
	}
	for name, value := range entry.Values {
		r.Headers[name] = value.(string)
	}
	return r, err
}

func (b broker) Left(ctx context.Context, topic string) (int, error) {
	client := newClient(b.addr)
	defer func() { _ = client.Close() }()
	return left(ctx, client, topic, "group")
}

func fields(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint("name", i), "value")
	}
	return list
}

func (b broker) Features() brokertest.Features {
	hostile := func(name string, fields ...string) brokertest.Hostile {
		return brokertest.Hostile{Name: name, Send: func(ctx context.Context, topic string, body []byte) error {
			_, err := cli(ctx, b.addr, append(append([]string{"XADD", topic, "*"}, fields...), "payload", string(body))...)
			return err
		}}
	}
	return brokertest.Features{
		Name: "redis",
		Hostile: []brokertest.Hostile{
			hostile("metadata that are no msgpack", redis.MetadataField, "{}"),
			hostile("metadata that are a number", redis.MetadataField, "7"),
			hostile("an empty UUID", redis.UUIDField, ""),
			hostile("a repeated field", "h", "1", "h", "2"),
			hostile("bytes that are no text", "\xff\xfe", "\xff\r\n\x1b[2J"),
			hostile("a large field", "h", strings.Repeat("x", 64<<10)),
			hostile("ten thousand fields", fields(10_000)...),
			// Its payload is the object of its fields, whose values are text and no numbers.
			{Name: "no field of Watermill's", Undecodable: true, Send: func(ctx context.Context, topic string, body []byte) error {
				var fields map[string]json.Number
				if err := json.Unmarshal(body, &fields); err != nil {
					return err
				}
				args := []string{"XADD", topic, "*"}
				for name, value := range fields {
					args = append(args, name, value.String())
				}
				_, err := cli(ctx, b.addr, args...)
				return err
			}},
		},
		Redelivery:    5 * time.Second,
		LeastPause:    900 * time.Millisecond,
		InFlight:      64,
		Ordered:       true,
		CreatesTopics: true,
		Restart:       func(ctx context.Context) error { return brokertest.Restart(ctx, "redis") },
		Delete: func(ctx context.Context, topic string) error {
			_, err := cli(ctx, b.addr, "DEL", topic)
			return err
		},
	}
}
