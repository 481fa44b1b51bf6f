package subscription

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/sleep"
)

const (
	// askEvery is the time between two questions to a source, and askTime bounds an
	// answer. With the age up to which a source answers from what it has seen last, 2 s,
	// they make the 8 seconds of consumer.Consumer's Ready.
	askEvery = 2 * time.Second
	askTime  = 4 * time.Second
	// lagEvery is the time between two questions for the lag, in units of askEvery.
	lagEvery = 7
	// firstPause and lastPause are the least and the longest time between two attempts to
	// subscribe.
	firstPause = 500 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Open calls subscribe until the broker is available, and opens the subscription. It
// returns the error of a broker that refuses, and any error once ctx has ended.
func (s *Subscription) Open(ctx context.Context, subscribe func() (<-chan *message.Message, error)) (<-chan *message.Message, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		messages, err := subscribe()
		if err == nil {
			s.Report(nil)
			s.Set("open")
			return messages, nil
		}
		if !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return nil, err
		}
		s.Report(err)
		if !sleep.For(ctx, pause) {
			return nil, err
		}
	}
}

// healthReporter and lagReporter are those of package consumer; refusalReporter is a source that senders
// call, and that says so while it has refused for minutes all that was sent. It does not block.
type (
	refusalReporter interface {
		Refusing(topic string) error
	}
	healthReporter interface {
		Healthy(ctx context.Context, topic string) error
	}
	lagReporter interface {
		Lag(ctx context.Context, topic string) (int64, error)
	}
)

// Watch asks source every few seconds whether the broker serves the subscription, whether all that is
// sent is refused, and how many messages wait, until ctx ends. It returns at once if source tells none.
func (s *Subscription) Watch(ctx context.Context, source message.Subscriber) {
	health, tells := source.(healthReporter)
	lag, counts := source.(lagReporter)
	refuser, refuses := source.(refusalReporter)
	if !tells && !counts && !refuses {
		return
	}
	unknown, refusing := false, false
	for n := 0; sleep.For(ctx, askEvery); n++ {
		if refuses {
			if err := refuser.Refusing(s.state.Topic); (err != nil) != refusing {
				refusing = err != nil
				s.set.OnRefusal(s.state.Topic, err)
			}
		}
		var err error
		if tells {
			err = s.ask(ctx, health)
			if ctx.Err() != nil {
				return
			}
			s.Report(err)
		}
		switch {
		case !counts:
		case err != nil:
			s.lags(-1)
		case n%lagEvery == 0:
			waiting, err := s.askLag(ctx, lag)
			if s.lags(waiting); err != nil && !unknown && ctx.Err() == nil {
				s.set.Logger.Info("how many messages wait at the broker is not known, so headrace.source.lag does not show it", "topic", s.state.Topic, "error", err)
			}
			unknown = err != nil
		}
	}
}

func (s *Subscription) ask(ctx context.Context, r healthReporter) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return r.Healthy(ctx, s.state.Topic)
}

// askLag returns a negative number with an error.
func (s *Subscription) askLag(ctx context.Context, r lagReporter) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	n, err := r.Lag(ctx, s.state.Topic)
	if err != nil {
		return -1, err
	}
	return n, nil
}
