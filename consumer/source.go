package consumer

import (
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"
)

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
