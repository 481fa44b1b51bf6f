package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/outbox/relay"
)

var _ relay.HealthReporter = (*Sink)(nil)

var errSilent = errors.New("redis: the server does not answer")

// Healthy implements consumer.HealthReporter: Redis must answer reads and take settlements.
// If it has answered no read in the last two seconds, it is asked for the group, and to
// acknowledge an entry that does not exist, which a replica refuses.
func (s *Source) Healthy(ctx context.Context, topic string) error { return s.subs.Healthy(ctx, topic) }

// Healthy implements flow.Reporter.
func (u *subscription) Healthy(ctx context.Context) error {
	for _, o := range []*flow.Outage{u.flight.acks.Trouble, u.flight.backs.Trouble, u.flight.beats} {
		if err := o.Err(); err != nil {
			return err
		}
	}
	select {
	case <-u.gate.Paused(): // nothing is read, so nothing else says that Redis is there again
		return u.ask(ctx, u.alive)
	default:
	}
	if len(u.window) == cap(u.window) || u.bytes.Room() == 0 { // no room: nothing is read either
		return u.ask(ctx, u.alive)
	}
	if err := u.wholes.Err(); err != nil {
		return err
	}
	return u.health.Err(ctx, func(ctx context.Context) error { return u.ask(ctx, u.alive) })
}

// ask runs question in another goroutine, and waits for its end or that of ctx, whose
// deadline the client ignores.
func (u *subscription) ask(ctx context.Context, question func() error) error {
	answer := make(chan error, 1)
	select {
	case u.questions <- func() { answer <- question() }:
	case <-u.ctx.Done():
		return nil
	case <-ctx.Done():
		return errSilent
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return errSilent
	}
}

// answer answers questions until the subscription ends.
func (u *subscription) answer() {
	for {
		select {
		case question := <-u.questions:
			question()
		case <-u.ctx.Done():
			return
		}
	}
}

// noEntry is an id that no entry has.
const noEntry = "0-0"

// alive asks whether the group is there, and whether Redis would write.
func (u *subscription) alive() error {
	if err := writes(u.ctx, u.client, u.stream, u.o.Group); err != nil {
		return fmt.Errorf("cannot acknowledge entries to Redis: %s", encode.Said(err))
	}
	if err := u.client.XPending(u.ctx, u.stream, u.o.Group).Err(); err != nil {
		return fmt.Errorf("cannot ask Redis for the group: %s", encode.Said(err))
	}
	return nil
}

// writes asks whether Redis would write: a replica refuses. It changes nothing, also where
// there is no such stream or group.
func writes(ctx context.Context, client goredis.UniversalClient, stream, group string) error {
	return client.XAck(ctx, stream, group, noEntry).Err()
}

// sinkHealth is what a Sink needs to ask Redis.
type sinkHealth struct {
	stream atomic.Pointer[string] // that took the last entries; nil before the first
	asks   atomic.Bool            // a question is under way
	owned  sync.WaitGroup
}

// Healthy implements relay.HealthReporter: Redis must answer, and write to the stream to
// which the sink has added last. Its error says so, too, while an earlier question has no
// answer, which the client waits for longer than ctx.
func (s *Sink) Healthy(ctx context.Context) error {
	if s.closed.Load() {
		return errClosed
	}
	if s.health.asks.Swap(true) {
		return errSilent
	}
	answer := make(chan error, 1)
	s.health.owned.Go(func() {
		defer s.health.asks.Store(false)
		answer <- s.ask(ctx)
	})
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return errSilent
	}
}

func (s *Sink) ask(ctx context.Context) error {
	err := s.o.Client.Ping(ctx).Err()
	if stream := s.health.stream.Load(); err == nil && stream != nil {
		err = writes(ctx, s.o.Client, *stream, "headrace")
	}
	if err == nil || goredis.HasErrorPrefix(err, "NOPERM") { // may only publish: that says nothing of Redis
		return nil
	}
	return fmt.Errorf("redis: cannot ask the server: %s", encode.Said(err))
}

// reach adds to err what to check if Redis did not answer; then, and if Redis says that it
// cannot serve now, it matches consumer.ErrUnavailable.
func reach(err error) error {
	for _, now := range []string{"LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "BUSY ", "UNBLOCKED"} {
		if goredis.HasErrorPrefix(err, now) {
			return fmt.Errorf("%w: %w", consumer.ErrUnavailable, err)
		}
	}
	return flow.Reach(err, "SourceOptions.Client")
}
