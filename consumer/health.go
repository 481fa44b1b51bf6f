package consumer

import "time"

// Subscription is the state of one subscription.
type Subscription struct {
	// Topic is the topic of the subscription.
	Topic string
	// Handler is the handler's name. With Attach it is empty until the first message,
	// because a Router does not give it earlier.
	Handler string
	// State is "starting", "open", "ended" or "failed", and "local" for a handler that
	// has no source. With Attach it is "stopped" after the program stopped the Router's
	// handler.
	State string
	// Since is when State was entered, by this process's clock.
	Since time.Time
	// Err is why the broker does not serve it; nil if it does, or the source does not tell
	// (see HealthReporter). A subscription that is starting waits for its broker then.
	Err error
}

// Subscriptions returns the state of each subscription, in the order of registration;
// with Attach in the order in which the Router subscribed.
func (c *Consumer) Subscriptions() []Subscription {
	var list []Subscription
	for _, s := range c.rt.Subscriptions.States() {
		list = append(list, Subscription(s))
	}
	return list
}

// Ready returns nil while messages are being handled: Run is under way, the database
// answers, and every subscription is open. Otherwise the error says what is missing. An
// outage of broker or database makes a consumer not ready; a broker or database that
// hangs does so after about 8 seconds. That is no reason to restart the process (see
// Alive). A paused consumer is ready (see Paused).
func (c *Consumer) Ready() error { return c.rt.Ready() }

// Alive returns nil while Run is under way, unless something has happened that only a new
// process can fix.
func (c *Consumer) Alive() error { return c.rt.Alive() }
