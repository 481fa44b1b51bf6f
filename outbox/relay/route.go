package relay

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/outbox"
)

// Route gives the events of a topic to a handler of a consumer of the same database,
// through its backlog and without a broker, instead of publishing them through the sink.
// Several routes of one topic give each event to each of their handlers.
//
// Every relay of the outbox, in every process, must have the same routes: one that does
// not know a route publishes the events through its sink.
type Route struct {
	// Topic names the events. Required.
	Topic string
	// Consumer is the consumer's name. Required; in consumer.Config.Routes the default is
	// that consumer.
	Consumer string
	// Handler is the handler's name. Default: Topic, as for handlers.
	Handler string
	// Key says what the key of an event is for the handler. Where the handler gets
	// messages from a broker as well, give what the handler has. Default: the event's
	// id, as inbox.MessageID has it; the hash of one that is longer than a key may be.
	Key inbox.KeyFunc
	// Fingerprint covers what the event says. Default: inbox.Payload.
	Fingerprint inbox.FingerprintFunc
	// OrderKey names the events that the handler must be given in order; the
	// delivery's own OrderKey is that of the event. Default: the event's.
	OrderKey func(d *headrace.Delivery) string
	// Strict is the handler's Strict, and must be the same: a later event of an order
	// key waits while an earlier one waits for its retry. Default: false.
	Strict bool
	// AndSink publishes the events of Topic through the sink as well. The handler is
	// given an event once the sink has confirmed it, so an outage of the sink holds it
	// up. One route of a topic that says so is enough. Default: false.
	AndSink bool
}

// name names the route in errors.
func (r *Route) name() string {
	return fmt.Sprintf("route of %q to %s/%s", r.Topic, r.Consumer, r.Handler)
}

// scope is that of the handler.
func (r *Route) scope() string { return r.Consumer + "/" + r.Handler }

var messageID = inbox.MessageID()

// eventID is the key of an event by its id. An id may have 1 KiB, a key MaxKeyBytes. Such
// an id is not refused when the event is published: rows that have one stand in outboxes,
// and sinks take them. The hash of it is what Identify keeps an undecodable message under,
// as these were before: one of them that is published again meets its letter.
func eventID(d *headrace.Delivery) (string, error) {
	if len(d.ID) > inbox.MaxKeyBytes {
		return encode.Fit(d.ID, inbox.MaxKeyBytes), nil
	}
	return messageID(d)
}

// withDefaults fills what is zero, and refuses what cannot be.
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

// ErrRoute matches the refusal of routes that contradict each other, or a relay without
// a sink.
var ErrRoute = errors.New("routes contradict each other")

// table are the routes of a relay. It is never changed, only replaced.
type table struct {
	byTopic map[string][]Route
	sinks   map[string]bool // topics that go to the sink as well
	// local are the topics that do not go to the sink, and rest all others.
	local, rest outbox.Topics
}

// with returns the table with more routes. Of a route that is there already, the first
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
