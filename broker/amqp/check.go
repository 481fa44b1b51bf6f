package amqp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

// Check implements consumer.Checker. It makes the queue, if Topology.Declare is set, or
// checks that it exists, and compares the broker's limits with the handler's demands.
// If the broker is away or does not answer, the error matches consumer.ErrUnavailable.
// Others name the option, or what to set at the broker.
func (s *Source) Check(ctx context.Context, topic string, d consumer.Demands) error {
	p, err := s.o.place(topic)
	if err != nil {
		return fmt.Errorf("amqp: %w", err)
	}
	v, err := s.reach(ctx, p)
	if err != nil {
		return fmt.Errorf("amqp: %w", waitable(err))
	}
	found := s.told(v)
	if s.o.Management != "" {
		if found, err = s.ask(ctx, p.queue, v); err != nil {
			return fmt.Errorf("amqp: ask the management API (option SourceOptions.Management) for the limits of queue %q: %w",
				p.queue, flow.Reach(err, "SourceOptions.Management"))
		}
	}
	if err := errors.Join(s.checkKind(p, found), s.checkTimeout(found, d), checkDeliveries(p, found, d)); err != nil {
		return fmt.Errorf("amqp: %w", err)
	}
	return nil
}

// told returns the limits by the options and the broker's version.
func (s *Source) told(v version) limits {
	found := limits{deliveries: s.o.DeliveryLimit}
	switch {
	case found.deliveries != 0 || s.o.Declare == "":
	case s.o.Declare == Quorum && v.limits():
		found.deliveries = defaultDeliveryLimit
	default:
		found.deliveries = Unlimited
	}
	return found
}

func (s *Source) checkTimeout(found limits, d consumer.Demands) error {
	limit := cmp.Or(found.timeout, s.o.ConsumerTimeout)
	if limit == Unlimited || d.AckWait < limit {
		return nil
	}
	return fmt.Errorf("a delivery may stay unsettled for %s, and the broker closes the channel after its consumer_timeout of %s: "+
		"lower Config.HandlerTimeout, register the handler with HandleLeased, or raise consumer_timeout at the broker and say so with SourceOptions.ConsumerTimeout",
		d.AckWait.Round(time.Second), limit)
}

// checkDeliveries checks the queue's delivery limit, which the protocol does not show.
func checkDeliveries(p place, found limits, d consumer.Demands) error {
	switch limit := found.deliveries; {
	case limit == 0:
		return fmt.Errorf("queue %q: the broker may give up on a message after a number of deliveries, and does not say after how many: "+
			"set SourceOptions.Management to the URL of its management API, or Topology.DeliveryLimit to the delivery-limit of the queue "+
			"(20 is the default of a quorum queue from RabbitMQ 4.0 on) or to amqp.Unlimited, which is right for a classic queue", p.queue)
	case limit != Unlimited && limit < d.Deliveries:
		return fmt.Errorf("queue %q gives up on a message after %d deliveries, and the consumer may need %d: raise its delivery-limit to %d at least, "+
			"and give it a dead-letter exchange", p.queue, limit, d.Deliveries, d.Deliveries)
	}
	return nil
}
