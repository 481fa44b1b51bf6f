package consumer

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/dlq/from"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/mistake"
	"github.com/headrace/headrace/internal/runtime"
)

// Demands are what a handler needs from the source of its deliveries. A broker takes a
// message for lost after its own timeout, and gives up on it after its own number of
// deliveries. If either limit is lower than these, the broker works against the consumer.
type Demands struct {
	// HandlerTimeout is the longest that one run of the handler may take.
	HandlerTimeout time.Duration
	// AckWait is how long a delivery may stay unsettled in normal operation: its immediate
	// runs, one after another, and the wait for a connection and a commit. In an outage
	// of the database it takes longer; the broker then only delivers it again.
	AckWait time.Duration
	// Deliveries is how often the broker must be willing to deliver a message. A failed
	// attempt does not cause a delivery, since it is in the database; deaths of the
	// process and outages do.
	Deliveries int
	// InFlight is how many deliveries the consumer holds at once.
	InFlight int
	// Key is the handler's key function. A source whose ids prove nothing rejects one that
	// takes them, as inbox.DefaultKey does.
	Key inbox.KeyFunc
}

// Checker is a source with its own limits. Run calls Check for each of its topics before
// it subscribes. An error that matches ErrUnavailable has Run try again until the broker
// answers; any other ends Run. It names the limit and says what to set.
//
// Check asks once and does not wait for a broker that is away: until it returns, Ready
// does not say what is missing.
type Checker interface {
	Check(ctx context.Context, topic string, d Demands) error
}

// Registrar is a source that knows from elsewhere which topics it has, and warns of those
// without a handler.
type Registrar interface {
	// Registered is called for each handler of the source when it is registered, before Run.
	// It does not block.
	Registered(topic string)
}

// HealthReporter is a source that knows whether its broker serves a subscription. Without
// it, a consumer whose broker is away looks like one that has nothing to do.
type HealthReporter interface {
	// Healthy returns nil if the subscription of topic would get a message that is
	// published now, as far as the source knows. Otherwise the error says what is missing:
	// the connection is lost, the broker does not answer, it refuses to deliver (rights
	// that were revoked, a consumer group that is gone), or it does not take settlements.
	// A paused subscription, or one without room for more messages, is healthy while the
	// broker answers.
	//
	// While Run, or a Router with Attach, is subscribed to topic, one goroutine calls it
	// every 2 seconds. It returns when ctx ends, 4 seconds later. It should ask the
	// broker nothing if it has had an answer within the last 2 seconds. Its error is in
	// Ready at once, and in the log and an alert (alerts.SourceDown) if it lasts for 2
	// seconds, so it contains no credentials. It may be called concurrently for several
	// topics, and returns nil for a topic that is not subscribed.
	Healthy(ctx context.Context, topic string) error
}

// LagReporter is a source that knows how many messages wait at its broker. The gauge
// headrace.source.lag shows the number.
type LagReporter interface {
	// Lag returns how many messages wait for the group or queue of topic's subscription, as
	// the broker counts them: those that no consumer was given yet, or those that none has
	// acknowledged. Every process of a group returns the same number.
	//
	// While Run, or a Router with Attach, is subscribed to topic, one goroutine calls it
	// every 14 seconds. It returns when ctx ends, 4 seconds later. After an error the gauge
	// shows nothing. It may be called concurrently for several topics.
	Lag(ctx context.Context, topic string) (int64, error)
}

// Pauser is a source that can stop fetching from its broker while the consumer begins no
// work: a person paused it, or the database is unavailable. Deliveries that the source
// has handed over may still be settled. Both methods are idempotent and do not block;
// they affect the subscription of one topic only.
type Pauser interface {
	// Pause stops the fetching of topic's messages.
	Pause(topic string)
	// Resume ends Pause.
	Resume(topic string)
}

// Redeliverer is a source that adds headers to a message, or changes some, when its broker
// delivers the message again: a count, a time. A message whose key cannot be computed, and
// that has no position on its broker, is recognised by its id, its payload and its other
// headers.
type Redeliverer interface {
	// ChangedByRedelivery reports whether a redelivery may add or change the header of this
	// name. It may be called concurrently.
	ChangedByRedelivery(header string) bool
}

// From gives the handler a source of its own instead of Config.Source.
func From(source message.Subscriber) Option {
	return func(r *registration) {
		r.once("From")
		if err := mistake.Source("From", source); err != nil {
			r.mistake("%w", err)
			return
		}
		r.Source = source
	}
}

// Ingest takes the messages of a dead-letter queue that the broker fills itself, beside those
// of the handler's own source. read knows their headers: see package dlq/from.
//
// The handler's Key tells whether a message was taken before: then it is a duplicate. If not,
// it becomes a dead letter of class ingested, with what the broker says of it as its error,
// which can be redriven. It is acknowledged after the commit. A message that read takes for
// another consumer's is acknowledged, and nothing else.
func Ingest(queue string, source message.Subscriber, read from.Reader) Option {
	return func(r *registration) {
		r.once("Ingest")
		if err := mistake.Source("Ingest", source); err != nil {
			r.mistake("%w", err)
			return
		}
		r.Ingest = &runtime.Ingest{Queue: queue, Source: source, Read: read}
	}
}

// Local says that the handler has no source: it gets the events of its topic that any
// program publishes in this database, through tx.Publish or package outbox. It needs no
// broker and no Sink.
//
// The first Run subscribes the consumer to the topic. From then on each transaction that
// publishes such an event also writes one for this consumer, whether it runs or not; the
// headrace command shows, moves and removes subscriptions. Events with Event.Local that
// were written before wait and are delivered then. They may be handled after later ones of
// their order key if their transaction was under way while the first consumer subscribed.
//
// A consumer has one local handler of a topic: for two, make two consumers, or one handler
// that calls both.
//
// Deliveries have the handler's own Key and OrderKey, as those from a broker do. It is not
// known for how long a program may write an event again, so nothing is pruned unless
// Config.Retention.SourceRetention says it.
func Local() Option {
	return func(r *registration) {
		r.once("Local")
		r.local = true
	}
}

// setSource gives r the consumer's source, unless it has its own or none.
func (r *registration) setSource(source message.Subscriber) {
	if r.local && r.Intake {
		r.mistake("Local() and Intake(): its messages are in the backlog already")
	}
	switch {
	case r.local && r.Source != nil:
		r.mistake("Local() and From(…): it has a source or none")
	case !r.local && r.Source == nil:
		if r.Source = source; source == nil && len(r.mistakes) == 0 {
			r.mistake("it has no source: set Config.Source, or register it with consumer.From or consumer.Local")
		}
	}
}

// deliveries is how often the broker must be willing to deliver a message. The consumer
// finds a message that kills its process after three deaths with it as the only work
// under way; deaths caused by other messages and outages come on top.
const deliveries = 10

// checkOf tells source of the registration of h for topic, and returns a function that checks
// at the start whether source meets h's demands; nil if it has no limits of its own.
func (c *Consumer) checkOf(h *runtime.Handler, topic string, source message.Subscriber) func(context.Context) error {
	if s, ok := source.(Registrar); ok {
		s.Registered(topic)
	}
	limited, ok := source.(Checker)
	if !ok {
		return nil
	}
	d := Demands{
		HandlerTimeout: h.Timeout,
		AckWait:        time.Duration(1+h.Policy.Immediate)*(h.Timeout+runtime.Grace) + runtime.RecordTime,
		Deliveries:     deliveries,
		InFlight:       c.config.MaxInFlight,
		Key:            h.Key,
	}
	return func(ctx context.Context) error { return limited.Check(ctx, topic, d) }
}
