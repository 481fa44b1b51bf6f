package amqp

import (
	"errors"
	"fmt"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// Kind is the type of a queue.
type Kind string

const (
	// Classic queues are on one node. They never give up on a message.
	Classic Kind = "classic"
	// Quorum queues are replicated. They count the deliveries of a message, and may give
	// up on it: see Topology.DeliveryLimit.
	Quorum Kind = "quorum"
)

// Unlimited says that the broker has no such limit.
const Unlimited = -1

// Topology maps a topic to a queue, exchange and routing key. Its zero value is the plain
// case: a topic is an existing queue of that name. Give the same one to the source and
// the sink of a topic.
type Topology struct {
	// Queue names the queue of a topic. Default: the topic itself.
	Queue func(topic string) string
	// Exchange is the exchange to publish to. Default "": the broker's default exchange,
	// where the routing key is the name of the queue.
	Exchange string
	// RoutingKey is the routing key of messages and, if Declare is set, of the queue's
	// binding. Default: the queue's name on the default exchange, otherwise the topic.
	RoutingKey func(topic string) string

	// Declare makes missing queues of this kind, durable; with an Exchange it also makes
	// the exchange and the bindings. It changes nothing that exists: a queue with other
	// properties is an error. Default "": nothing is made, and a missing queue is an
	// error.
	Declare Kind
	// ExchangeType is the type of a declared Exchange: "direct", "topic" or "fanout".
	// Default "direct". Without Declare it is an error.
	ExchangeType string
	// DeliveryLimit is how often a quorum queue redelivers a message before it drops it,
	// or dead-letters it if it has a dead-letter exchange. A declared queue gets it. For
	// other queues it says what the queue has, by its arguments or by a policy (which the
	// protocol does not show; SourceOptions.Management does, and then that counts).
	// Unlimited: it has none. Default 0: for a declared queue
	// the broker's own (20 from RabbitMQ 4.0 on, before that none), otherwise unknown.
	DeliveryLimit int
	// DeadLetterExchange gets the messages that the broker gives up on; "" drops them. It
	// is an argument of the declared queue, and an error without Declare; the exchange is
	// not made.
	DeadLetterExchange string
}

func (t Topology) withDefaults() Topology {
	if t.Queue == nil {
		t.Queue = func(topic string) string { return topic }
	}
	if t.RoutingKey == nil {
		t.RoutingKey = func(topic string) string { return topic }
		if t.Exchange == "" {
			t.RoutingKey = t.Queue
		}
	}
	set(&t.ExchangeType, amqp091.ExchangeDirect)
	return t
}

func (t Topology) validate() error {
	switch t.Declare {
	case "", Classic, Quorum:
	default:
		return fmt.Errorf("option Topology.Declare is %q: it may be amqp.Classic or amqp.Quorum", t.Declare)
	}
	switch t.ExchangeType {
	case "", amqp091.ExchangeDirect, amqp091.ExchangeTopic, amqp091.ExchangeFanout:
	default:
		return fmt.Errorf("option Topology.ExchangeType is %q: it may be direct, topic or fanout", t.ExchangeType)
	}
	switch {
	case t.DeliveryLimit < Unlimited:
		return fmt.Errorf("option Topology.DeliveryLimit is %d: give a number, or amqp.Unlimited", t.DeliveryLimit)
	case t.Declare == Classic && t.DeliveryLimit > 0:
		return errors.New("option Topology.DeliveryLimit: classic queues have none; declare amqp.Quorum, or leave it out")
	case t.Exchange == "" && t.ExchangeType != "":
		return errors.New("option Topology.ExchangeType: there is no Exchange")
	case t.Declare == "" && t.ExchangeType != "":
		return errors.New("option Topology.ExchangeType: no exchange is made without Declare; set Declare, or leave it out")
	case t.Declare == "" && t.DeadLetterExchange != "":
		return errors.New("option Topology.DeadLetterExchange: an existing queue is not changed; set Declare, or give the queue its dead-letter exchange at the broker")
	case len(t.Exchange) > maxShort:
		return fmt.Errorf("option Topology.Exchange has %d bytes, at most %d are possible", len(t.Exchange), maxShort)
	}
	return nil
}

// maxShort is the length of the protocol's short string.
const maxShort = 255

// place is the queue, exchange and routing key of a topic.
type place struct{ queue, exchange, key string }

func (t Topology) place(topic string) (place, error) {
	p := place{queue: t.Queue(topic), exchange: t.Exchange, key: t.RoutingKey(topic)}
	switch {
	case p.queue == "":
		return place{}, fmt.Errorf("topic %q: the name of its queue is empty", topic)
	case len(p.queue) > maxShort || len(p.key) > maxShort:
		return place{}, fmt.Errorf("topic %.64q…: the name of its queue or its routing key has more than %d bytes", topic, maxShort)
	}
	return p, nil
}

// arguments returns the arguments for declaring a queue at a broker of that version.
func (t Topology) arguments(v version) amqp091.Table {
	a := amqp091.Table{amqp091.QueueTypeArg: string(t.Declare)}
	switch {
	case t.Declare != Quorum:
	case t.DeliveryLimit > 0:
		a["x-delivery-limit"] = int32(min(t.DeliveryLimit, 1<<30))
	case t.DeliveryLimit == Unlimited && v.limits():
		a["x-delivery-limit"] = int32(Unlimited) // other versions have none by default
	}
	if t.DeadLetterExchange != "" {
		a["x-dead-letter-exchange"] = t.DeadLetterExchange
	}
	return a
}

// look returns how many messages of the queue of p no consumer holds, and an error if the
// queue does not exist. After an error ch is closed, as with all of these.
func (t Topology) look(ch *amqp091.Channel, p place) (waiting int64, err error) {
	q, err := ch.QueueDeclarePassive(p.queue, true, false, false, false, nil)
	if err != nil {
		return 0, explain(p, err)
	}
	return int64(q.Messages), nil
}

// prepare makes the queue of p with its binding if Declare is set.
func (t Topology) prepare(ch *amqp091.Channel, p place, v version) error {
	if t.Declare == "" {
		_, err := t.look(ch, p)
		return err
	}
	// The broker compares a declaration with an existing queue, and does not change it.
	if _, err := ch.QueueDeclare(p.queue, true, false, false, false, t.arguments(v)); err != nil {
		return explain(p, err)
	}
	if p.exchange == "" {
		return nil
	}
	if err := t.prepareExchange(ch, p.exchange); err != nil {
		return err
	}
	if err := ch.QueueBind(p.queue, p.key, p.exchange, false, nil); err != nil {
		return fmt.Errorf("bind queue %q to exchange %q: %w", p.queue, p.exchange, err)
	}
	return nil
}

func (t Topology) prepareExchange(ch *amqp091.Channel, name string) error {
	if err := ch.ExchangeDeclare(name, t.ExchangeType, true, false, false, false, nil); err != nil {
		if refusal(err, amqp091.PreconditionFailed) != nil {
			return fmt.Errorf("exchange %q exists with other properties than Topology says, and was left as it is: %w", name, err)
		}
		return fmt.Errorf("declare exchange %q: %w", name, err)
	}
	return nil
}

func explain(p place, err error) error {
	switch {
	case refusal(err, amqp091.NotFound) != nil:
		return fmt.Errorf("queue %q does not exist: declare it, or set Topology.Declare: %w", p.queue, err)
	case refusal(err, amqp091.PreconditionFailed) != nil:
		return fmt.Errorf("queue %q exists with other properties than Topology says, and was left as it is: %w", p.queue, err)
	case refusal(err, amqp091.ResourceLocked) != nil:
		return fmt.Errorf("queue %q belongs to another connection alone: %w", p.queue, err)
	}
	return fmt.Errorf("queue %q: %w", p.queue, err)
}
