package consumer

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrNotRunning matches what Ready and Alive return before Run and after it.
var ErrNotRunning = errors.New("not running")

// Subscription is the state of one subscription.
type Subscription struct {
	// Topic is what is subscribed to.
	Topic string
	// Handler is for whom. With Attach it is empty until the first message, because a
	// Router does not say it before.
	Handler string
	// State is "starting", "open", "ended" or "failed", and "local" for a handler
	// that subscribes to nothing; with Attach also "stopped", which the program asked the
	// Router's handler for.
	State string
	// Since is when State was entered, by this process's clock.
	Since time.Time
}

// subscription is a Subscription that changes.
type subscription struct {
	topic   string
	handler string
	mu      sync.Mutex
	state   string
	since   time.Time
}

func (s *subscription) set(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.since = state, time.Now()
}

func (s *subscription) get() Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	if state == "" {
		state = "starting"
	}
	return Subscription{Topic: s.topic, Handler: s.handler, State: state, Since: s.since}
}

// Subscriptions returns the state of each subscription, by registration; with Attach in
// the order in which the Router subscribed.
func (c *Consumer) Subscriptions() []Subscription {
	if c.router != nil {
		return c.router.subscriptions()
	}
	list := make([]Subscription, len(c.handlers))
	for i, h := range c.handlers {
		list[i] = h.sub.get()
	}
	return list
}

// Ready returns nil while messages are being handled: Run is under way, the database
// answers, and every subscription is open. Otherwise it says what is missing. An
// outage of broker or database makes a consumer not ready, one that hangs and refuses
// nothing after about 8 seconds; it is no reason to
// restart the process (see Alive). One that a person has paused is ready: it does what
// it was told (see Paused).
func (c *Consumer) Ready() error {
	if err := c.Alive(); err != nil {
		return err
	}
	list := c.Subscriptions()
	if len(list) < len(c.handlers) {
		return fmt.Errorf("%d of %d subscriptions are not there yet", len(c.handlers)-len(list), len(c.handlers))
	}
	_, paused := c.Paused()
	for _, s := range list {
		if s.State != "open" && s.State != "local" && s.State != "stopped" && !(paused && s.State == "starting") {
			return fmt.Errorf("subscription to %q is %s", s.Topic, s.State)
		}
	}
	if err := c.gate.Err(); err != nil {
		return fmt.Errorf("paused: %w", err)
	}
	return nil
}

// Alive returns nil while Run is under way and nothing has happened that only a new
// process can mend.
func (c *Consumer) Alive() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.fatal != nil:
		return c.fatal
	case !c.running:
		return fmt.Errorf("consumer %s: %w", c.name, ErrNotRunning)
	case c.stuck >= c.config.Concurrency:
		return fmt.Errorf("consumer %s: %d handlers ignored their deadline and were left behind", c.name, c.stuck)
	}
	return nil
}
