package amqp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"
)

// subscription outlives the sessions that it has with the broker, one after the other.
type subscription struct {
	source *Source
	topic  string
	place  place
	out    chan *message.Message
	ctx    context.Context // ends with Subscribe's, and with Close
	cancel context.CancelFunc

	paused   atomic.Bool
	changed  chan struct{}  // told when paused changes
	watchers sync.WaitGroup // of messages that were handed over
	prepared bool           // the queue was there once
}

func (s *subscription) setPaused(paused bool) {
	s.paused.Store(paused)
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// begin opens the first session. An answer of the broker counts at once; while there is
// none, it is tried again for Server.Timeout.
func (s *subscription) begin() (*session, error) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.source.o.Timeout, errNoAnswer)
	defer cancel()
	var wait pause
	for {
		first, err := s.open(ctx)
		if err == nil || answered(err) || !wait.wait(ctx) {
			return first, err
		}
	}
}

// run serves sessions until the subscription ends.
func (s *subscription) run(current *session) {
	defer close(s.out)
	defer s.watchers.Wait()
	var wait pause
	for current != nil {
		err := current.serve()
		current.end()
		if s.ctx.Err() != nil {
			return
		}
		if current.handed > 0 {
			wait.reset()
		}
		// A session that gave nothing may end by the first thing that the broker sends,
		// again and again.
		if !wait.wait(s.ctx) {
			return
		}
		s.source.o.Logger.Warn("amqp: a subscription is interrupted; it is opened again", "queue", s.place.queue, "error", err)
		current = s.again()
	}
}

// again opens the next session, and returns nil when the subscription has ended.
func (s *subscription) again() *session {
	log := s.source.o.Logger
	var wait pause
	var missing time.Time // since when the queue is
	for {
		next, err := s.open(s.ctx)
		if err == nil {
			log.Info("amqp: a subscription is open again", "queue", s.place.queue)
			return next
		}
		// The node of a queue may be starting, or another consumer have it for itself.
		switch gone := refusal(err, amqp091.NotFound, amqp091.AccessRefused) != nil; {
		case s.ctx.Err() != nil || errors.Is(err, ErrClosed):
			return nil
		case errors.As(err, new(errStream)):
			log.Error("amqp: a subscription has ended", "queue", s.place.queue, "error", err)
			return nil
		case !gone:
			missing = time.Time{}
		case missing.IsZero():
			missing = time.Now()
		}
		if !missing.IsZero() && time.Since(missing) >= s.source.o.MissingGrace {
			log.Error("amqp: a subscription has ended", "queue", s.place.queue, "error", err)
			return nil
		}
		if !wait.wait(s.ctx) {
			return nil
		}
	}
}

// open opens a session: a channel of its own, from which the queue is consumed unless
// the subscription is paused.
func (s *subscription) open(ctx context.Context) (*session, error) {
	conn, err := s.source.link.get(ctx)
	if err != nil {
		return nil, err
	}
	ch, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	// What was there and is gone is not made again: somebody has deleted it with all
	// that it held, and should hear of it.
	if s.prepared {
		err = s.source.o.look(ch, s.place)
	} else {
		err = s.source.o.prepare(ch, s.place, versionOf(conn))
	}
	if err != nil {
		_ = ch.Close() // an error says that it is closed
		return nil, err
	}
	s.prepared = true
	n := newSession(s, ch)
	if err := n.begin(); err != nil {
		n.end()
		return nil, err
	}
	return n, nil
}
