package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/broker/internal/flow"
)

// SinkOptions configure a Sink. Only Client is required.
type SinkOptions struct {
	// Client is the Redis client. The caller closes it.
	Client goredis.UniversalClient
	// Stream returns the key of a topic's stream. Default: the topic.
	Stream func(topic string) string
	// MustExist makes Publish to a missing stream an error. Otherwise it makes the
	// stream.
	MustExist bool
	// Timeout bounds one Publish, in addition to the client's own timeouts; 100 ms to 1
	// h. Default 10 s.
	Timeout time.Duration
	// UnsafeMaxLen trims a stream to about that many entries with each Publish, also
	// unread ones. 0 trims nothing.
	UnsafeMaxLen int64
}

// timeoutLeast is the shortest sensible timeout for a request.
const timeoutLeast = 100 * time.Millisecond

// Sink adds messages to streams. It is a Watermill Publisher whose Publish adds all
// messages of a call or none. Its methods may be called concurrently.
type Sink struct {
	o      SinkOptions
	closed atomic.Bool
	health sinkHealth
}

// errClosed is the error of a closed Sink.
var errClosed = errors.New("redis: the sink is closed")

var _ message.Publisher = (*Sink)(nil)

// NewSink returns a Sink. It does not connect; the first Publish does.
func NewSink(o SinkOptions) (*Sink, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("redis: option SinkOptions.Client is missing: give go-redis' redis.NewClient(…)")
	case o.UnsafeMaxLen < 0:
		return nil, fmt.Errorf("redis: option SinkOptions.UnsafeMaxLen is %d: it may not be negative", o.UnsafeMaxLen)
	}
	if err := flow.Times(flow.Time{Name: "SinkOptions.Timeout", Value: o.Timeout, Least: timeoutLeast}); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if o.Stream == nil {
		o.Stream = func(topic string) string { return topic }
	}
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	return &Sink{o: o}, nil
}

// SinkID identifies the server and its database, for the relay.
func (s *Sink) SinkID() string {
	switch c := s.o.Client.(type) {
	case *goredis.Client:
		return fmt.Sprintf("redis:%s/%d", c.Options().Addr, c.Options().DB)
	case *goredis.ClusterClient:
		return "redis:" + strings.Join(slices.Sorted(slices.Values(c.Options().Addrs)), ",")
	}
	return fmt.Sprintf("redis %T", s.o.Client)
}

// Publish adds the messages in one MULTI and returns when the server has done it. After a
// connection error they may still have been added. It runs under the context of the first
// message.
func (s *Sink) Publish(topic string, messages ...*message.Message) error {
	if s.closed.Load() {
		return errClosed
	}
	if len(messages) == 0 {
		return nil
	}
	stream, err := streamOf(topic, s.o.Stream, "SinkOptions")
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	ctx, cancel := context.WithTimeout(messages[0].Context(), s.o.Timeout)
	defer cancel()
	_, err = s.o.Client.TxPipelined(ctx, func(p goredis.Pipeliner) error {
		for _, m := range messages {
			values, err := write(m)
			if err != nil {
				return err
			}
			p.XAdd(ctx, &goredis.XAddArgs{
				Stream: stream, NoMkStream: s.o.MustExist, Values: values, MaxLen: s.o.UnsafeMaxLen, Approx: s.o.UnsafeMaxLen > 0,
			})
		}
		return nil
	})
	switch {
	case errors.Is(err, goredis.Nil):
		return fmt.Errorf("redis: stream %q does not exist (SinkOptions.MustExist)", stream)
	case err != nil:
		return fmt.Errorf("redis: add to stream %q: %w", stream, flow.Reach(err, "SinkOptions.Client"))
	}
	if known := s.health.stream.Load(); known == nil || *known != stream {
		s.health.stream.Store(&stream)
	}
	return nil
}

// Close makes later calls of Publish fail. It does not wait for calls of Publish under way,
// only for a question of Healthy (the client's timeouts), and leaves the client open.
func (s *Sink) Close() error {
	s.closed.Store(true)
	s.health.owned.Wait()
	return nil
}
