package consumer

import (
	"fmt"

	"github.com/headrace/headrace/outbox/relay"
)

// routes returns Config.Routes with this consumer as the default, or why one of its own
// handlers cannot be given what a route brings.
func (c *Consumer) routes() ([]relay.Route, error) {
	routes := make([]relay.Route, len(c.config.Routes))
	for i, r := range c.config.Routes {
		or(&r.Consumer, c.name)
		or(&r.Handler, r.Topic)
		routes[i] = r
		if r.Consumer != c.name {
			continue
		}
		h := c.handler(r.Handler)
		if h == nil {
			return nil, fmt.Errorf("option Config.Routes: topic %q: there is no handler %q: register one of that name", r.Topic, r.Handler)
		}
		if h.Strict != r.Strict {
			return nil, fmt.Errorf("option Config.Routes: topic %q: Route.Strict is %t and that of handler %q is %t: they must be the same (leased handlers are always strict)",
				r.Topic, r.Strict, r.Handler, h.Strict)
		}
	}
	return routes, nil
}

// handler returns the handler of that name; nil if there is none.
func (c *Consumer) handler(name string) *handler {
	for _, h := range c.handlers {
		if h.Name == name {
			return h
		}
	}
	return nil
}
