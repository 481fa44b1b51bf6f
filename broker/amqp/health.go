package amqp

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/outbox/relay"
)

var (
	_ consumer.HealthReporter = (*Source)(nil)
	_ relay.HealthReporter    = (*Sink)(nil)
)

// answerTime bounds how long Check and Subscribe wait for the broker.
const answerTime = 4 * time.Second

var errNoAnswer = errors.New("the broker does not answer in time")

// Healthy implements consumer.HealthReporter: the subscription must be open, and the
// broker must know the queue. It is asked unless a message has come within the last two
// seconds.
func (s *Source) Healthy(ctx context.Context, topic string) error { return s.subs.Healthy(ctx, topic) }

// Healthy implements flow.Reporter: the broker is asked for the queue.
func (s *subscription) Healthy(ctx context.Context) error {
	return s.health.Err(ctx, func(ctx context.Context) error {
		_, err := s.Lag(ctx)
		return err
	})
}

// Healthy implements relay.HealthReporter: the broker must open a channel, and take messages.
func (s *Sink) Healthy(ctx context.Context) error {
	err := s.link.accepts()
	if err == nil {
		err = s.link.question(ctx, func(*amqp091.Channel) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("amqp: %w", err)
	}
	return nil
}

// question runs f on a channel of the connection, and returns when that takes longer than a
// broker may take to answer.
func (l *link) question(ctx context.Context, f func(*amqp091.Channel) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	conn, err := l.get(ctx)
	if err != nil {
		return err
	}
	return l.within(ctx, conn, f)
}

// reach is prepare, for no longer than the broker may take to answer.
func (s *Source) reach(ctx context.Context, p place) (v version, err error) {
	err = sure(ctx, func(ctx context.Context) error {
		v, err = s.prepare(ctx, p)
		return err
	})
	return v, err
}

// sure calls open once more if it says that the broker refuses the credentials: the client
// takes a connection that is lost at this point for that too. Each call has answerTime: the
// broker takes two seconds for such an answer.
func sure(ctx context.Context, open func(context.Context) error) error {
	once := func() error {
		ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
		defer cancel()
		return open(ctx)
	}
	err := once()
	if hopeless(err) && sleep.For(ctx, firstPause) {
		err = once()
	}
	return err
}

// waitable makes err match consumer.ErrUnavailable if it is no refusal.
func waitable(err error) error {
	if !unavailable(err) {
		return err
	}
	return fmt.Errorf("%w: %w", consumer.ErrUnavailable, err)
}

// unavailable reports whether err says that the broker is away, does not answer, or cannot
// serve now.
func unavailable(err error) bool {
	var e *amqp091.Error
	switch {
	case errors.Is(err, ErrClosed), hopeless(err):
		return false
	case errors.As(err, &e) && e.Server:
		return e.Code == amqp091.ConnectionForced || e.Code == amqp091.InternalError || e.Code == amqp091.ResourceError
	case e != nil: // from the client, when a connection or a channel is lost
		return e.Code == amqp091.FrameError || e.Code == amqp091.ChannelError
	}
	return errors.Is(err, errNoAnswer) || flow.Unavailable(err)
}
