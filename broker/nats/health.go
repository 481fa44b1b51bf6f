package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

var (
	errUnanswered  = errors.New("the server does not answer requests for messages; may the credentials publish to the subject?")
	errUnconfirmed = errors.New("the server does not confirm acknowledgements")
)

// Healthy implements consumer.HealthReporter: the connection must be there, the server must
// give messages and confirm acknowledgements, and its consumer must not be paused. It asks the
// server nothing while messages come.
func (s *Source) Healthy(ctx context.Context, topic string) error { return s.subs.Healthy(ctx, topic) }

// Healthy implements relay.HealthReporter: the server must answer a ping.
func (s *Sink) Healthy(ctx context.Context) error { return s.link.answers(ctx) }

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
	if err := b.health.Err(ctx, l.answers); err != nil {
		return err
	}
	return b.suspension.err(ctx, b)
}

// suspension is what is known of a pause of the consumer on the server, which ends requests
// for messages as if there were none.
type suspension struct {
	delivered atomic.Bool // a message has come since err was called last

	mu    sync.Mutex
	until *time.Time // nil if the consumer was not paused
	asked time.Time
}

// suspensionAge is how long the answer that the consumer is not paused counts.
const suspensionAge = 3 * time.Second

// err returns an error while the server has paused the consumer. It asks for the consumer
// unless a message has come lately; credentials without the right to ask see no pause.
func (p *suspension) err(ctx context.Context, b *subscription) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if came := p.delivered.Swap(false); p.until == nil && (came || time.Since(p.asked) < suspensionAge) {
		return nil
	}
	p.asked = time.Now()
	info, err := b.info(ctx)
	if p.until = nil; err == nil && info.Paused {
		p.until = info.Config.PauseUntil
	}
	if p.until == nil {
		return nil
	}
	return fmt.Errorf("the consumer %s of stream %s is paused on the server until %s: nats consumer resume %[2]s %[1]s", b.consumer, b.stream, p.until.Format(time.RFC3339))
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
		return flow.WithoutURL(err)
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
