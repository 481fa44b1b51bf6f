package outbox

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// Publisher is a Watermill Publisher that writes messages into the outbox, in the
// transaction that each message's context carries. cqrs.EventBus and all other code that
// publishes through Watermill work with it unchanged. It is safe for concurrent use,
// though a transaction is not.
type Publisher struct {
	o       *Outbox
	options PublisherOptions
}

// PublisherOptions change what a Publisher writes. The zero value works.
type PublisherOptions struct {
	// OrderKey names the messages of topic that must be published in the order in which
	// they were written. Default: always "", any order.
	OrderKey func(topic string, m *message.Message) string
	// Local says that the messages are for local handlers alone: see headrace.Event.Local.
	Local bool
}

// NewPublisher returns a Publisher that writes to w, as in
// outbox.NewPublisher(st.Outbox(), outbox.PublisherOptions{}).
func NewPublisher(w Writer, options PublisherOptions) *Publisher {
	return &Publisher{o: New(w), options: options}
}

// Publish writes messages, in this order, each in the transaction of its own context:
// the one of WithTx, else the one of headrace.WithTx, which the handlers of a Router with
// consumer.Attach find in theirs. A message that the relay publishes has the UUID, metadata
// and payload that it was given here; one without a UUID gets one. No messages are no error.
//
// The error matches ErrNoTransaction if a message's context carries no transaction, and
// headrace.ErrInvalidEvent if a message is not a valid event; then none of the messages
// is written. After any other error the messages' transactions can only be rolled back.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	parts, err := p.divide(topic, messages)
	if err != nil {
		return fmt.Errorf("publish to the outbox: %w", err)
	}
	for _, part := range parts {
		if err := p.o.Publish(part.first.Context(), part.tx, part.events...); err != nil {
			return err
		}
	}
	return nil
}

// Close does nothing: the outbox belongs to its store.
func (*Publisher) Close() error { return nil }

// part is the events for one transaction.
type part struct {
	tx     headrace.Execer
	first  *message.Message
	events []headrace.Event
}

// divide groups the messages by their transaction. It rejects every invalid message
// before any is written.
func (p *Publisher) divide(topic string, messages []*message.Message) ([]*part, error) {
	var parts []*part
	for i, m := range messages {
		if m == nil {
			return nil, fmt.Errorf("message %d: %w: it is nil", i, headrace.ErrInvalidEvent)
		}
		tx := txFrom(m.Context())
		if tx == nil {
			return nil, fmt.Errorf("message %d: %w: its context carries none; put one there with outbox.WithTx", i, ErrNoTransaction)
		}
		if err := inTransaction(tx); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		event, err := p.options.Event(topic, m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		n := slices.IndexFunc(parts, func(other *part) bool { return same(other.tx, tx) })
		if n < 0 {
			n, parts = len(parts), append(parts, &part{tx: tx, first: m})
		}
		parts[n].events = append(parts[n].events, event)
	}
	return parts, nil
}

// Event returns m as the event of topic that is written for it, with its UUID, metadata,
// payload and trace: for drivers. A nil payload makes a tombstone; an empty UUID is replaced. The
// error matches headrace.ErrInvalidEvent.
func (o PublisherOptions) Event(topic string, m *message.Message) (headrace.Event, error) {
	e := headrace.Event{
		ID: m.UUID, Topic: topic, Payload: []byte(m.Payload), Tombstone: m.Payload == nil, Local: o.Local,
		Metadata: maps.Clone(map[string]string(m.Metadata)), Trace: headrace.TraceFrom(m.Metadata),
	}
	if o.OrderKey != nil {
		e.OrderKey = o.OrderKey(topic, m)
	}
	return e.Encode(nil)
}

// same reports whether a and b are one transaction. Values of a type that cannot be
// compared count as two, which only costs a statement.
func same(a, b headrace.Execer) bool {
	return reflect.ValueOf(a).Comparable() && a == b
}

var _ message.Publisher = (*Publisher)(nil)
