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

// Watch asks source every few seconds whether the broker serves the subscription, until
// ctx ends. It returns at once if source does not tell.
func (s *Subscription) Watch(ctx context.Context, source message.Subscriber) {
	r, ok := source.(reporter)
	if !ok {
		return
	}
	for sleep.For(ctx, askEvery) {
		err := s.ask(ctx, r)
		if ctx.Err() != nil {
			return
		}
		s.Report(err)
	}
}

func (s *Subscription) ask(ctx context.Context, r reporter) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return r.Healthy(ctx, s.state.Topic)
}
