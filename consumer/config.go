package consumer

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/retry"
)

// Config says how a Consumer works. New requires only Source, unless every
// handler is registered with From or Local; Attach requires Name and Sink. A field that is zero has the default that its comment names.
type Config struct {
	// Name is the consumer's name for Attach, and required there: it is part of the
	// scope of every key, so two services of one database with one name would take each
	// other's messages for duplicates. New is given the name as an argument, and refuses
	// another one here.
	Name string
	// Source is where deliveries come from: any Watermill Subscriber. It must give a
	// message again that was neither acknowledged nor given back. Default: none; then
	// each handler is registered with From or Local. Attach refuses it: the Router
	// subscribes.
	Source message.Subscriber
	// Sink is where events of the outbox and the copies of dead letters are
	// published: any Watermill Publisher whose Publish returns after the broker has
	// the message. Default: none; then this process publishes nothing, and no copies
	// of dead letters are made. Consumers of one store in one process share one sink.
	Sink message.Publisher
	// Routes give events of the outbox to handlers of the same database, without a
	// broker: Route.Consumer is by default this one. Consumers of one store in one
	// process share their routes; give the same ones in every process that relays the
	// outbox. With Routes and without a Sink only the events of their topics leave the
	// outbox. Default: none.
	Routes []relay.Route
	// Relay tunes the publishing; its zero value has its own defaults.
	Relay relay.Options

	// Key says what the key of a message is. Default: inbox.DefaultKey.
	Key inbox.KeyFunc
	// Fingerprint covers what the message says. Default: inbox.Payload.
	Fingerprint inbox.FingerprintFunc
	// OrderKey names the messages that must be handled in order of arrival; "" means
	// any order. Default: what the source says (headrace.Arrival), which is the record's
	// key on Kafka and "" elsewhere.
	OrderKey func(d *headrace.Delivery) string
	// Strict keeps the order of an order key also across retries and processes: later
	// messages wait behind one that waits for its retry. It costs two statements a
	// group. Default: false.
	Strict bool
	// Retry is the policy for failed messages. Default: retry.Policy's own.
	Retry retry.Policy
	// Codec decodes payloads and encodes event values. Default: codec.JSON().
	Codec codec.Codec

	// Concurrency is how many groups of one handler run at once, each on a database
	// connection of its own. Default 4.
	Concurrency int
	// MaxBatch is the largest number of messages in one transaction. Default 64.
	MaxBatch int
	// BatchTime is how long the handlers of one transaction should take together;
	// groups grow no larger than that. Default 100 ms.
	BatchTime time.Duration
	// MaxInFlight is how many deliveries are held at once, over all handlers.
	// Default 512.
	MaxInFlight int
	// MaxInFlightBytes is how many bytes of payload are held at once; a larger message
	// is taken alone. Default 64 MiB.
	MaxInFlightBytes int64
	// BacklogWorkers is how many shards of the backlog are worked off at once.
	// Default 2.
	BacklogWorkers int

	// HandlerTimeout is how long one run of a handler may take, a batch included. It
	// must be below the time in which the broker takes a message for lost.
	//
	// Then its context ends, and it has a grace of 5 seconds to return. What it returns
	// within the grace counts: an error is a failed attempt, a timeout; nil is success,
	// and its effects are committed, so a handler that ignores the context may take up to
	// the grace longer than this. After the grace it is left behind, its transaction is
	// rolled back, and the attempt has failed, whatever it returns later.
	// Default 30 s.
	HandlerTimeout time.Duration
	// DrainTimeout is how long handlers may finish after the consumer was told to stop.
	// Default 30 s; for Attach two thirds of the Router's CloseTimeout, which must be
	// longer than it, or 20 s.
	DrainTimeout time.Duration
	// NackPause is the least time before a delivery is given back while the consumer
	// runs. Default 1 s.
	NackPause time.Duration

	// DeadLetterTopic names the topic for the copies of a topic's dead letters;
	// returning "" makes no copy, and nor does a topic that no event may have, which is
	// logged. Default: the topic with ".dead" appended. Without a Sink no copies are
	// made.
	DeadLetterTopic func(topic string) string

	// Retention says when the records of old messages and letters are pruned. Its zero
	// value prunes only where the Source declares for how long it can deliver again, as
	// the adapters under broker do that can know (see inbox.Retention.SourceRetention).
	Retention inbox.Retention

	// Logger takes what operators should know; no payloads, and no words of handlers'
	// errors, which are in the attempts and the dead letters. Default: slog.Default.
	Logger *slog.Logger
	// Alert is told what a person should look at, from a goroutine of its own; what it
	// does never holds up work, and what it fails for is tried again (see
	// alerts.Hook). Default: alerts.Log(Logger).
	Alert alerts.Hook
	// Alerts say how often it is told. The zero value has its own defaults: the first
	// of a group at once, those that follow once in 5 minutes, 10 in a minute in all.
	Alerts alerts.Options

	// TracerProvider makes the spans of receiving, processing and sending. Without an
	// SDK they cost next to nothing. Default: otel.GetTracerProvider().
	TracerProvider trace.TracerProvider
	// MeterProvider makes the instruments; see docs/operate.md for their names. Gauges
	// of what waits in the database are there while Run is under way, and ask it at most
	// once in 10 s. Default: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
}

// leastTime is the shortest time that anybody means: below it somebody wrote a number
// without a unit, which Go takes for nanoseconds.
const leastTime = time.Millisecond

// validate returns an error that names the first field that cannot be.
func (c Config) validate() error {
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"Concurrency", int64(c.Concurrency)}, {"MaxBatch", int64(c.MaxBatch)},
		{"MaxInFlight", int64(c.MaxInFlight)}, {"MaxInFlightBytes", c.MaxInFlightBytes},
		{"BacklogWorkers", int64(c.BacklogWorkers)}, {"BatchTime", int64(c.BatchTime)},
		{"HandlerTimeout", int64(c.HandlerTimeout)}, {"DrainTimeout", int64(c.DrainTimeout)},
		{"NackPause", int64(c.NackPause)},
	} {
		if n.value < 0 {
			return fmt.Errorf("option Config.%s is negative (%d): 0 gives the default", n.name, n.value)
		}
	}
	for _, n := range []struct {
		name  string
		value time.Duration
	}{{"HandlerTimeout", c.HandlerTimeout}, {"DrainTimeout", c.DrainTimeout}, {"NackPause", c.NackPause}} {
		if n.value > 0 && n.value < leastTime {
			return fmt.Errorf("option Config.%s is %s: give it a unit, as in 30*time.Second", n.name, n.value)
		}
	}
	for _, n := range []struct {
		name       string
		value, max int
	}{
		{"Concurrency", c.Concurrency, 1000}, {"MaxBatch", c.MaxBatch, 10_000},
		{"MaxInFlight", c.MaxInFlight, 1_000_000}, {"BacklogWorkers", c.BacklogWorkers, 1000},
	} {
		if n.value > n.max {
			return fmt.Errorf("option Config.%s is %d: more than %d is a mistake", n.name, n.value, n.max)
		}
	}
	if err := c.Retry.Validate(); err != nil {
		return fmt.Errorf("option Config.Retry: %w", err)
	}
	if err := c.Retention.Validate(); err != nil {
		return fmt.Errorf("option Config.Retention: %w", err)
	}
	if err := c.Alerts.Validate(); err != nil {
		return fmt.Errorf("option Config.Alerts: %w", err)
	}
	return nil
}

// withDefaults fills what is zero.
func (c Config) withDefaults() Config {
	or(&c.Concurrency, 4)
	or(&c.MaxBatch, 64)
	or(&c.BatchTime, 100*time.Millisecond)
	or(&c.MaxInFlight, 512)
	or(&c.MaxInFlightBytes, 64<<20)
	or(&c.BacklogWorkers, 2)
	or(&c.HandlerTimeout, 30*time.Second)
	or(&c.DrainTimeout, 30*time.Second)
	or(&c.NackPause, time.Second)
	if c.Key == nil {
		c.Key = inbox.DefaultKey()
	}
	if c.Fingerprint == nil {
		c.Fingerprint = inbox.Payload()
	}
	if c.OrderKey == nil {
		c.OrderKey = func(d *headrace.Delivery) string { return d.OrderKey }
	}
	if c.Codec == nil {
		c.Codec = codec.JSON()
	}
	if c.DeadLetterTopic == nil {
		c.DeadLetterTopic = func(topic string) string { return topic + ".dead" }
	}
	if c.Sink == nil {
		c.DeadLetterTopic = func(string) string { return "" }
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Alert == nil {
		c.Alert = alerts.Log(c.Logger)
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	c.Retry = c.Retry.WithDefaults()
	return c
}

func or[T int | int64 | time.Duration | string](field *T, otherwise T) {
	var zero T
	if *field == zero {
		*field = otherwise
	}
}
