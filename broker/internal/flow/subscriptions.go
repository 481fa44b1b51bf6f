package flow

import (
	"context"
	"errors"
	"sync"
)

// Reporter is a subscription that knows whether its broker serves it, and how many messages
// wait there.
type Reporter interface {
	comparable
	Healthy(ctx context.Context) error
	Lag(ctx context.Context) (int64, error)
}

// Subscriptions are those of a source that run. The zero value is empty. Its methods may be
// called concurrently.
type Subscriptions[S Reporter] struct {
	mu     sync.Mutex
	topics map[S]string
}

// Add adds a subscription to topic.
func (s *Subscriptions[S]) Add(topic string, sub S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.topics == nil {
		s.topics = make(map[S]string)
	}
	s.topics[sub] = topic
}

// Remove removes a subscription that has ended.
func (s *Subscriptions[S]) Remove(sub S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.topics, sub)
}

// All returns all of them.
func (s *Subscriptions[S]) All() []S { return s.where(func(string) bool { return true }) }

// To returns those to topic.
func (s *Subscriptions[S]) To(topic string) []S {
	return s.where(func(t string) bool { return t == topic })
}

func (s *Subscriptions[S]) where(wanted func(topic string) bool) (subs []S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub, topic := range s.topics {
		if wanted(topic) {
			subs = append(subs, sub)
		}
	}
	return subs
}

// Healthy is consumer.HealthReporter's, for all subscriptions to topic.
func (s *Subscriptions[S]) Healthy(ctx context.Context, topic string) error {
	for _, sub := range s.To(topic) {
		if err := sub.Healthy(ctx); err != nil {
			return err
		}
	}
	return nil
}

var errNotSubscribed = errors.New("there is no subscription to the topic")

// Lag is consumer.LagReporter's: subscriptions to one topic are of one group, so any of them
// is asked.
func (s *Subscriptions[S]) Lag(ctx context.Context, topic string) (int64, error) {
	subs := s.To(topic)
	if len(subs) == 0 {
		return 0, errNotSubscribed
	}
	return subs[0].Lag(ctx)
}
