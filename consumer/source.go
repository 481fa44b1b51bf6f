package consumer

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Demands are what a handler asks of the source that its deliveries come from. A broker
// takes a message for lost after a time of its own, and gives up on it after a number of
// deliveries of its own; either below these would work against the consumer.
type Demands struct {
	// HandlerTimeout is the longest that one run of the handler may take.
	HandlerTimeout time.Duration
	// Hold is how long a delivery may stay unsettled while everything is well: its runs
	// at once after each other, and the wait for a connection and a commit. An outage of
	// the database makes it longer; the delivery then only comes again.
	Hold time.Duration
	// Deliveries is how often a message must be given before the broker may give up on
	// it. Failed attempts are no deliveries, since they are in the database; deaths of
	// the process and outages are.
	Deliveries int
	// InFlight is how many deliveries the consumer holds at once.
	InFlight int
}

// Checker is a source with limits of its own. Run calls Check for each of its topics
// before it subscribes; an error, which names the limit and says what to set, ends Run.
type Checker interface {
	Check(ctx context.Context, topic string, d Demands) error
}

// Pauser is a source that can stop fetching from its broker while nothing may be begun:
// a person paused the consumer, or the database is away. Deliveries that it has handed
// over may still be settled. Both are idempotent and do not block; the subscription of
// another topic goes on.
type Pauser interface {
	// Pause stops the fetching of topic's messages.
	Pause(topic string)
	// Resume ends Pause.
	Resume(topic string)
}

// From gives the handler a source of its own instead of Config.Source.
func From(source message.Subscriber) Option {
	return func(r *registration) {
		if source == nil {
			r.mistakes = append(r.mistakes, errors.New("From(nil): give a Watermill Subscriber"))
		}
		r.source = source
	}
}

// Local says that the handler subscribes to nothing: it is given what routes and
// redrives put into its backlog (see Config.Routes).
func Local() Option {
	return func(r *registration) { r.local = true }
}

// sourceOf returns where the deliveries of a registration come from; nil if from nowhere.
func (c *Consumer) sourceOf(r registration) message.Subscriber {
	switch {
	case r.local:
		return nil
	case r.source != nil:
		return r.source
	}
	return c.config.Source
}

// checkSource returns why a registration cannot get its deliveries, or nil.
func (c *Consumer) checkSource(r registration) error {
	switch {
	case r.local && r.source != nil:
		return errors.New("Local() and From(…): it has a source or none")
	case !r.local && c.sourceOf(r) == nil && len(r.mistakes) == 0:
		return errors.New("it has no source: set Config.Source, or register it with consumer.From or consumer.Local")
	}
	return nil
}

// deliveries is how often a message must be given before its broker may give up on it:
// a message that kills its process is found after three deaths as the only work under
// way, and the deaths of neighbours and outages come on top.
const deliveries = 10

// demands are what h asks of its source.
func (c *Consumer) demands(h *handler) Demands {
	runs := time.Duration(1 + h.Policy.Immediate)
	return Demands{
		HandlerTimeout: h.Timeout,
		Hold:           runs*(h.Timeout+grace) + bookTime,
		Deliveries:     deliveries,
		InFlight:       c.config.MaxInFlight,
	}
}
