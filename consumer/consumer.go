package consumer

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/caution"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/group"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/store"
)

// Consumer runs handlers. Make one with New, register handlers, then Run it once.
// Ready, Alive, Stats and Subscriptions may be called from any goroutine.
type Consumer struct {
	name     string
	st       store.Store
	config   Config
	handlers []*handler
	mistakes mistakes
	router   *attachment // nil without one
	started  atomic.Bool

	gate      *group.Gate
	hold      *hold
	pace      pace
	guard     atomic.Pointer[caution.Guard] // nil before Run
	stats     counters
	telemetry *telemetry.Telemetry

	mu      sync.Mutex
	running bool
	fatal   error
	stuck   int
}

// handler is a registration with what turns a message into a task for it.
type handler struct {
	*group.Handler
	resolve resolver
	sub     subscription
	source  message.Subscriber // nil for one that subscribes to nothing
	engine  *group.Engine
	// concurrency is how many groups run at once; 0 means Config.Concurrency.
	concurrency int
}

// New returns a consumer that does not run yet. name is part of the scope of every
// key that it has ever handled, and must not change; it holds no slash and at most
// 120 bytes. The error names the option that cannot be.
func New(name string, st store.Store, config Config) (*Consumer, error) {
	if err := encode.ConsumerName(name); err != nil {
		return nil, fmt.Errorf("consumer: %w", err)
	}
	if st == nil {
		return nil, fmt.Errorf("consumer %s: the store is nil", name)
	}
	if config.Name != "" && config.Name != name {
		return nil, fmt.Errorf("consumer %s: option Config.Name is %q: leave it empty, New is given the name", name, config.Name)
	}
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("consumer %s: %w", name, err)
	}
	c := &Consumer{name: name, st: st, config: config.withDefaults()}
	c.gate, c.hold, c.pace = group.NewGate(nil), newHold(), usualPace
	if err := c.observe(); err != nil {
		return nil, fmt.Errorf("consumer %s: %w", name, err)
	}
	return c, nil
}

// Name returns the consumer's name.
func (c *Consumer) Name() string { return c.name }

// add takes a registration, or what is wrong with it.
func (c *Consumer) add(topic string, r registration, h *group.Handler) {
	wrong := r.mistakes
	if c.started.Load() {
		wrong = append(wrong, ErrRunning)
	}
	if topic == "" {
		wrong = append(wrong, fmt.Errorf("the topic is empty"))
	} else if err := encode.Name("handler name", h.Name); err != nil {
		wrong = append(wrong, err)
	}
	if err := c.checkSource(r); err != nil {
		wrong = append(wrong, err)
	}
	for _, other := range c.handlers {
		if other.Name == h.Name {
			wrong = append(wrong, fmt.Errorf("there is another handler of that name: use consumer.Name"))
		}
	}
	for _, err := range wrong {
		c.mistakes = append(c.mistakes, fmt.Errorf("%q: %w", h.Name, err))
	}
	h.Telemetry = c.telemetry.Handler(c.name, h.Name, group.Outcomes())
	c.handlers = append(c.handlers, &handler{
		Handler: h, source: c.sourceOf(r),
		resolve: resolver{handler: h, key: r.key, fingerprint: r.fingerprint, orderKey: r.orderKey},
		sub:     subscription{topic: topic, handler: h.Name}, concurrency: r.concurrency,
	})
}
