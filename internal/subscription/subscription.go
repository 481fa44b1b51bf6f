package subscription

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/pause"
	"github.com/headrace/headrace/internal/telemetry"
)

// ErrUnavailable is consumer.ErrUnavailable.
var ErrUnavailable = errors.New("the broker is unavailable")

// Set has the subscriptions of a consumer. Its methods may be called concurrently.
type Set struct {
	// Pause and Breaker say when no deliveries are taken.
	Pause   *pause.State
	Breaker *breaker.Breaker
	// Logger logs when a subscription has been down for a while, and when it is up again.
	Logger *slog.Logger
	// OnChange is called when Down has changed. May be nil; set it before the consumer
	// runs.
	OnChange func()
	// OnRefusal is called when a source begins to refuse all that is sent to a topic, and with nil
	// when it accepts something. Set it before the consumer runs.
	OnRefusal func(topic string, why error)

	mu   sync.Mutex
	list []*Subscription
}

// State is a consumer.Subscription.
type State struct {
	Topic   string
	Handler string
	State   string
	Since   time.Time
	Err     error
}

// Subscription is the current state of a subscription.
type Subscription struct {
	set   *Set
	state State
	lag   int64     // messages that wait at the broker; negative: unknown
	down  time.Time // since when Err is set
	told  bool      // that it is down was logged
}

// Add adds a subscription in state starting; the caller updates it. The handler may be
// named later.
func (s *Set) Add(topic, handler string) *Subscription {
	sub := &Subscription{set: s, lag: -1, state: State{Topic: topic, Handler: handler, State: "starting"}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, sub)
	return sub
}

// States returns the states of all in the order in which they were added.
func (s *Set) States() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]State, len(s.list))
	for i, sub := range s.list {
		list[i] = sub.state
	}
	return list
}

// Begun reports whether none is starting any more.
func (s *Set) Begun() bool {
	return !slices.ContainsFunc(s.States(), func(state State) bool { return state.State == "starting" })
}

// Down returns the states of those that have been down for so long that it was logged.
func (s *Set) Down() (down []State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.list {
		if sub.told {
			down = append(down, sub.state)
		}
	}
	return down
}

// Gauges returns for each topic whether it is down, which is 1 if a subscription to it is,
// and its lag if that is known.
func (s *Set) Gauges() []telemetry.Value {
	down, lag := make(map[string]int64), make(map[string]int64)
	s.mu.Lock()
	for _, sub := range s.list {
		topic := sub.state.Topic
		if sub.state.Err != nil {
			down[topic] = 1
		} else if sub.state.State != "local" {
			down[topic] += 0
		}
		if sub.lag >= 0 {
			lag[topic] += sub.lag
		}
	}
	s.mu.Unlock()
	values := make([]telemetry.Value, 0, len(down)+len(lag))
	for topic, n := range down {
		values = append(values, telemetry.Value{Gauge: telemetry.SourceDown, Kind: topic, N: n})
	}
	for topic, n := range lag {
		values = append(values, telemetry.Value{Gauge: telemetry.SourceLag, Kind: topic, N: n})
	}
	return values
}

// Ready returns why one of them does not deliver; nil if all do.
func (s *Set) Ready() error {
	_, paused := s.Pause.Get()
	for _, state := range s.States() {
		switch {
		case state.Err != nil:
			return fmt.Errorf("topic %q: the broker does not serve the subscription: %w", state.Topic, state.Err)
		case state.State == "open", state.State == "local", state.State == "stopped", paused && state.State == "starting":
		default:
			return fmt.Errorf("subscription to %q is %s", state.Topic, state.State)
		}
	}
	return nil
}

// Set changes the state. One that is not open any more is not down either.
func (s *Subscription) Set(state string) {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.state.State, s.state.Since = state, time.Now()
	s.state.Err, s.down, s.told, s.lag = nil, time.Time{}, false, -1
}

// Name sets the handler's name.
func (s *Subscription) Name(handler string) {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.state.Handler = handler
}

// settled is how long a subscription must be down to be logged.
const settled = 2 * time.Second

// Report records whether the broker serves the subscription; err says why it does not.
func (s *Subscription) Report(err error) {
	s.set.mu.Lock()
	if s.state.State != "starting" && s.state.State != "open" { // the answer is late
		s.set.mu.Unlock()
		return
	}
	state, was, since := s.state, s.told, s.down
	s.state.Err = err
	switch {
	case err == nil:
		s.down, s.told = time.Time{}, false
	case s.down.IsZero():
		s.down = time.Now()
	case time.Since(s.down) >= settled:
		s.told = true
	}
	now := s.told
	s.set.mu.Unlock()
	if now == was {
		return
	}
	if log := s.set.Logger.With("topic", state.Topic, "handler", state.Handler); now {
		log.Warn("the broker does not serve a subscription; it is tried again until it does", "error", err)
	} else {
		log.Info("the broker serves a subscription again", "after", time.Since(since).Round(time.Millisecond))
	}
	if s.set.OnChange != nil {
		s.set.OnChange()
	}
}

// lags records how many messages wait at the broker; negative if that is not known.
func (s *Subscription) lags(n int64) {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	if s.state.State == "open" { // else the answer is late
		s.lag = n
	}
}
