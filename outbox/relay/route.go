package relay

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/outbox"
)

// Route delivers the events of a topic to a handler of a consumer of the same database,
// through its backlog and without a broker, instead of publishing them through the sink.
// With several routes for one topic, each of their handlers gets each event.
//
// Every relay of the outbox, in every process, must have the same routes: a relay without
// the route publishes the events through its sink.
type Route struct {
	// Topic names the events. Required.
	Topic string
	// Consumer is the consumer's name. Required; in consumer.Config.Routes the default is
	// that consumer.
	Consumer string
	// Handler is the handler's name. Default: Topic, as for handlers.
	Handler string
	// Key returns the key of an event for the handler. If the handler also gets messages
	// from a broker, use the handler's KeyFunc. Default: the event's id, as for
	// inbox.MessageID, or its hash if the id is longer than a key may be.
	Key inbox.KeyFunc
	// Fingerprint is a hash of the event's content. Default: inbox.Payload.
	Fingerprint inbox.FingerprintFunc
	// OrderKey names the events that the handler must get in order; the delivery's own
	// OrderKey is that of the event. Default: the event's.
	OrderKey func(d *headrace.Delivery) string
	// Strict must be the same as the handler's: a later event of an order key waits while
	// an earlier one waits for its retry. Default: false.
	Strict bool
	// AndSink also publishes the events of Topic through the sink. The handler gets an
	// event after the sink has confirmed it, so an outage of the sink delays the handler.
	// It is enough to set it on one route of a topic. Default: false.
	AndSink bool
}

// name names the route in errors.
func (r *Route) name() string {
	return fmt.Sprintf("route of %q to %s/%s", r.Topic, r.Consumer, r.Handler)
}

// scope is the handler's scope.
func (r *Route) scope() string { return r.Consumer + "/" + r.Handler }

var messageID = inbox.MessageID()

// eventID is the key of an event: its id. An id may have 1 KiB, a key MaxKeyBytes. An
// event with a longer id is not rejected: outboxes already contain such rows, and sinks
// accept them. Its key is the hash that Identify uses for undecodable messages. These
// events were such messages before, so one that is published again finds its letter.
func eventID(d *headrace.Delivery) (string, error) {
	if len(d.ID) > inbox.MaxKeyBytes {
		return encode.Fit(d.ID, inbox.MaxKeyBytes), nil
	}
	return messageID(d)
}

// withDefaults sets zero fields to their defaults, and rejects invalid ones.
func (r Route) withDefaults() (Route, error) {
	if r.Topic == "" {
		return r, errors.New("Route.Topic is empty")
	}
	set(&r.Handler, r.Topic)
	if r.Consumer == "" {
		return r, fmt.Errorf("Route.Consumer of topic %q is empty", r.Topic)
	}
	if err := encode.ConsumerName(r.Consumer); err != nil {
		return r, fmt.Errorf("Route.Consumer of topic %q: %w", r.Topic, err)
	}
	if err := encode.Name("name", r.Handler); err != nil {
		return r, fmt.Errorf("Route.Handler of topic %q: %w", r.Topic, err)
	}
	if r.Key == nil {
		r.Key = eventID
	}
	if r.Fingerprint == nil {
		r.Fingerprint = inbox.Payload()
	}
	if r.OrderKey == nil {
		r.OrderKey = func(d *headrace.Delivery) string { return d.OrderKey }
	}
	return r, nil
}

// ErrRoute matches the error for routes that contradict each other or need a missing
// sink.
var ErrRoute = errors.New("routes contradict each other")

// table is the set of routes of a relay. It is never changed, only replaced.
type table struct {
	byTopic map[string][]Route
	sinks   map[string]bool // topics that also go to the sink
	// local are the topics that do not go to the sink, and rest all others.
	local, rest outbox.Topics
}

// with returns the table with more routes. If a route exists already, the first one
// counts.
func (t *table) with(routes []Route, sink bool) (*table, error) {
	next := &table{byTopic: make(map[string][]Route), sinks: make(map[string]bool)}
	for _, all := range [][]Route{t.all(), routes} {
		for _, r := range all {
			r, err := r.withDefaults()
			if err != nil {
				return nil, err
			}
			if err := next.add(r, sink); err != nil {
				return nil, err
			}
		}
	}
	next.rest.Except = true
	for topic := range next.byTopic {
		if !next.sinks[topic] {
			next.local.Names = append(next.local.Names, topic)
		}
	}
	next.rest.Names = next.local.Names
	return next, nil
}

func (t *table) add(r Route, sink bool) error {
	if r.AndSink && !sink {
		return fmt.Errorf("%w: the %s has AndSink, and there is no sink", ErrRoute, r.name())
	}
	for _, other := range t.byTopic[r.Topic] {
		if other.scope() != r.scope() {
			continue
		}
		if other.Strict != r.Strict || other.AndSink != r.AndSink {
			return fmt.Errorf("%w: the %s is given twice, with another Strict or AndSink", ErrRoute, r.name())
		}
		return nil
	}
	t.byTopic[r.Topic] = append(t.byTopic[r.Topic], r)
	if r.AndSink {
		t.sinks[r.Topic] = true
	}
	return nil
}

func (t *table) all() (routes []Route) {
	if t == nil {
		return nil
	}
	for _, of := range t.byTopic {
		routes = append(routes, of...)
	}
	return routes
}
