package nats

import (
	"context"
	"errors"
	"fmt"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

var (
	errUnanswered  = errors.New("the server does not answer requests for messages; may the credentials publish to the subject?")
	errUnconfirmed = errors.New("the server does not confirm acknowledgements")
)

// Healthy implements consumer.HealthReporter: the connection must be there, and the server
// must give messages and confirm acknowledgements. It asks the server nothing if that has
// answered a request within the last two seconds.
func (s *Source) Healthy(ctx context.Context, topic string) error { return s.subs.Healthy(ctx, topic) }

// Healthy implements flow.Reporter.
func (b *subscription) Healthy(ctx context.Context) error {
	l := b.source.link
	if err := l.connected(); err != nil {
		return err
	}
	if b.unconfirmed.Load() {
		if _, err := l.nc.RequestWithContext(ctx, noMessage(b.stream, b.consumer), inProgress); unanswered(err) {
			return fmt.Errorf("%w: %w", errUnconfirmed, err)
		}
		b.confirmed(nil)
	}
	if b.paused.Load() { // it makes no requests, and what was wrong may have been mended
		return l.answers(ctx)
	}
	return b.health.Err(ctx, l.answers)
}

// connected returns why there is no connection; nil if there is one.
func (l *link) connected() error {
	switch {
	case l.nc.IsConnected():
		return nil
	case l.nc.IsClosed():
		return fmt.Errorf("the connection to NATS is closed: %w", l.last())
	}
	return fmt.Errorf("%w: no connection to NATS, which is tried again: %w", consumer.ErrUnavailable, l.last())
}

// last is the connection's last error; never nil.
func (l *link) last() error {
	if err := l.nc.LastError(); err != nil {
		return withoutURL(err)
	}
	return natsgo.ErrNoServers
}

// answers returns an error if there is no connection, or the server does not answer a ping.
func (l *link) answers(ctx context.Context) error {
	if err := l.connected(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if err := l.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("%w: NATS does not answer a ping: %w", consumer.ErrUnavailable, err)
	}
	return nil
}

// reason makes an error of a call match consumer.ErrUnavailable if it is to be waited for.
// ctx is that of the call.
func (l *link) reason(ctx context.Context, err error) error {
	switch {
	case err == nil, ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, consumer.ErrUnavailable), !waitable(err):
		return err
	case errors.Is(l.nc.LastError(), natsgo.ErrPermissionViolation): // such a request gets no answer
		return fmt.Errorf("%w: %w", err, l.nc.LastError())
	}
	return fmt.Errorf("%w: %w", consumer.ErrUnavailable, err)
}

// unanswered reports whether err says that a request got no answer.
func unanswered(err error) bool {
	return err != nil && !errors.Is(err, natsgo.ErrNoResponders)
}

// waitable reports whether err says that the server is away, does not answer, or cannot
// serve now.
func waitable(err error) bool {
	for _, e := range []error{
		natsgo.ErrTimeout, natsgo.ErrDisconnected, natsgo.ErrConnectionReconnecting, natsgo.ErrReconnectBufExceeded, natsgo.ErrStaleConnection,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	var answer *jetstream.APIError
	if errors.As(err, &answer) { // such as a cluster without a leader
		return answer.Code == 503 && answer.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabled && answer.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabledForAccount
	}
	return flow.Unavailable(err)
}
