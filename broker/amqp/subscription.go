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

	"github.com/headrace/headrace/broker/internal/flow"
)

// subscription has sessions with the broker, one after the other.
type subscription struct {
	source *Source
	place  place
	out    chan *message.Message
	ctx    context.Context // ends with Subscribe's, and with Close
	cancel context.CancelFunc

	paused   atomic.Bool
	changed  chan struct{}  // gets a value when paused changes
	watchers sync.WaitGroup // goroutines that wait for handed over messages
	prepared bool           // the queue has existed
	health   flow.Health
}

func (s *subscription) setPaused(paused bool) {
	s.paused.Store(paused)
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// begin opens the first session.
func (s *subscription) begin() (first *session, err error) {
	err = sure(s.ctx, func(ctx context.Context) error {
		first, err = s.open(ctx)
		return err
	})
	return first, waitable(err)
}

// run serves sessions until the subscription ends.
func (s *subscription) run(current *session) {
	defer close(s.out)
	defer s.watchers.Wait()
	var wait pause
	for current != nil {
		err := current.serve()
		s.health.Is(fmt.Errorf("the subscription is opened again: %w", err))
		current.end()
		if s.ctx.Err() != nil {
			return
		}
		if current.handed > 0 {
			wait.reset()
		}
		// Wait: if the first message of the broker ends each session, this would
		// otherwise loop.
		if !wait.wait(s.ctx) {
			return
		}
		s.source.o.Logger.Warn("amqp: a subscription is interrupted; it is opened again", "queue", s.place.queue, "error", err)
		current = s.again()
	}
}

// again opens the next session, and returns nil if the subscription has ended.
func (s *subscription) again() *session {
	log := s.source.o.Logger
	var wait pause
	var missing time.Time // since when the queue is missing
	for {
		next, err := s.open(s.ctx)
		if err == nil {
			log.Info("amqp: a subscription is open again", "queue", s.place.queue)
			s.health.Is(nil)
			return next
		}
		s.health.Is(err)
		// The node of a queue may be starting, or another consumer may use it
		// exclusively.
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

// open opens a session: a channel of its own that consumes the queue unless the
// subscription is paused.
func (s *subscription) open(ctx context.Context) (*session, error) {
	conn, err := s.source.link.get(ctx)
	if err != nil {
		return nil, err
	}
	ch, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	// A queue that has disappeared is not made again: it was deleted with all its
	// messages, and the operator should notice.
	if s.prepared {
		_, err = s.source.o.look(ch, s.place)
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
