package subscription

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"
)

// pauser is a consumer.Pauser.
type pauser interface {
	Pause(topic string)
	Resume(topic string)
}

// Forward calls take for each message, while the database works and the consumer is not
// paused, until ctx ends, take returns false, or messages is closed. It reports whether
// messages was closed.
func (s *Subscription) Forward(ctx context.Context, source message.Subscriber, messages <-chan *message.Message, take func(*message.Message) bool) (ended bool) {
	for s.wait(ctx, source) {
		select {
		case <-ctx.Done():
			return false
		case <-s.set.Pause.Begun():
		case m, ok := <-messages:
			if !ok {
				return true
			}
			if !take(m) {
				return false
			}
		}
	}
	return false
}

// wait waits while the database does not work, or the consumer is paused: the source is
// not read, and a pauser fetches nothing. It reports false if ctx ends first.
func (s *Subscription) wait(ctx context.Context, source message.Subscriber) bool {
	pause, breaker := s.set.Pause, s.set.Breaker
	if p, ok := source.(pauser); ok && (pause.Paused() || breaker.Err() != nil) {
		p.Pause(s.state.Topic)
		defer p.Resume(s.state.Topic)
	}
	for pause.Wait(ctx) && breaker.Wait(ctx) {
		if !pause.Paused() {
			return true
		}
	}
	return false
}
