package consumer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/mistake"
	"github.com/headrace/headrace/internal/reporting"
	"github.com/headrace/headrace/internal/runtime"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
)

// Config configures a Consumer. New requires only Source, unless every handler is
// registered with From or Local; Attach requires Name and Sink. A zero field has the
// default that its comment names.
type Config struct {
	// Name is the consumer's name for Attach, and required there. It is part of the scope
	// of every key: if two services of one database have one name, each takes the other's
	// messages for duplicates. New takes the name as an argument, and rejects a different
	// one here.
	Name string
	// Source is where deliveries come from: any Watermill Subscriber. It must redeliver a
	// message that was neither acknowledged nor given back. Default: none; then register
	// each handler with From or Local, and if each is, Run rejects a Source. Attach rejects
	// it: the Router subscribes.
	Source message.Subscriber
	// Sink is where events of the outbox and the copies of dead letters are published: any
	// Watermill Publisher whose Publish returns after the broker has the message. Default: none;
	// then this process publishes nothing, its handlers' events are only for local handlers
	// (headrace.Event.Local), and no copies of dead letters are made. Consumers of one store in one
	// process share one sink. If other processes publish the same outbox to another sink, this one
	// waits until they have ended. If another consumer published it first, Run returns
	// outbox.ErrOwned, unless both have one Relay.SinkID.
	Sink message.Publisher
	// Relay tunes the publishing; its zero value has its own defaults. Consumers of one
	// store in one process share one relay, with the options of the one that starts first.
	// New rejects it without a Sink, and a StopTimeout above DrainTimeout.
	Relay relay.Options

	// Key says what the key of a message is. Default: inbox.DefaultKey. Run logs
	// a warning if each handler overrides it; the same goes for SameWhen and OrderKey.
	Key inbox.KeyFunc
	// SameWhen makes the fingerprint of a message's content: two messages of one key are
	// the same message when their fingerprints are equal, and otherwise the second is a
	// conflict. Default: inbox.Payload, the whole payload; inbox.Fields takes some of its
	// fields.
	SameWhen inbox.FingerprintFunc
	// OrderKey names the messages that must be handled in order of arrival; "" means
	// any order. Default: what the source says (headrace.Arrival), which is the record's
	// key on Kafka and "" elsewhere.
	OrderKey func(d *headrace.Delivery) string
	// Strict keeps the order of an order key also across retries and processes: later
	// messages wait behind one that waits for its retry. Messages go through the backlog
	// then, which costs about two thirds of the throughput. Over all processes, at most as
	// many messages run at once as the backlog has shards (backlog.Shards). Without Strict,
	// later messages of an order key overtake one that fails. Default: false.
	Strict bool
	// Retry is the policy for failed messages. Overrides of class retry.Lost are for handlers
	// of HandleLeased; Run rejects them if there is none, and Attach always. Default: retry.Policy's own.
	Retry retry.Policy
	// Codec decodes payloads and encodes event values. Default: codec.JSON().
	Codec codec.Codec

	// Concurrency is how many batches of one handler run at once, each on a database
	// connection of its own; as many again work off the backlog. Default 4.
	Concurrency int
	// MaxBatch is the largest number of messages in one transaction. Default 64. Run
	// rejects it if each handler is Alone.
	MaxBatch int
	// BatchTime is how long the handlers of one transaction should take together;
	// batches grow no larger than that. Default 100 ms. Run rejects it if each handler is
	// Alone.
	BatchTime time.Duration
	// MaxInFlight is how many deliveries are held at once, over all handlers. Default 512.
	// Run rejects it, and NackPause, if no handler has a Source.
	MaxInFlight int
	// MaxInFlightBytes is how many bytes of payload are held at once, and how many are
	// read from the backlog at once; a larger message is processed alone. Default 64 MiB.
	MaxInFlightBytes int64

	// Systems limits the calls that the steps of this process make to other systems
	// (package ledger), by the name of a system. A step waits for the limit before its call
	// is recorded, and keeps its message's lease and its slot meanwhile. New rejects an
	// invalid limit, and Run one for a system that no declared step names. Default: none.
	Systems map[string]ledger.Limit

	// HandlerTimeout is how long one run of a handler may take, a batch included. It
	// must be below the time in which the broker takes a message for lost.
	//
	// After that time the run's context ends, and the run has a grace of 5 seconds to
	// return. Its result within the grace counts: an error is a failed attempt, a
	// timeout; nil is success, and its effects are committed. So a handler that ignores
	// the context may take up to the grace longer than this. After the grace the consumer
	// abandons the run and rolls its transaction back. The attempt has failed, whatever
	// the run returns later. Default 30 s.
	HandlerTimeout time.Duration
	// DrainTimeout is how long handlers may finish after the consumer began to stop. What
	// they leave of it, and 5 s at least, is the relay's. Attach rejects one that is not shorter than
	// the Router's CloseTimeout (30 s by default): after that, Router.Run returns even if handlers still
	// run. Default 20 s. If handlers ignore their context, or the sink hangs, a stop takes about 6 s more.
	DrainTimeout time.Duration
	// Rehearsable declares each handler Rehearsable, but for those that are Alone or leased:
	// they cannot be. Attach rejects it. Default: false.
	Rehearsable bool
	// NackPause is the shortest wait before a delivery is given back while the consumer
	// runs. Default 1 s.
	NackPause time.Duration

	// DeadLetterTopic names the topic for the copies of a topic's dead letters. If it
	// returns "" there is no copy; if it returns an invalid topic there is none either,
	// which is logged. Default: the topic with ".dead" appended. Without a Sink there are
	// no copies, and New rejects this option.
	DeadLetterTopic func(topic string) string

	// Retention says when the records of old messages and letters are pruned. Its zero
	// value prunes only where the Source declares for how long it can deliver again, as
	// the adapters under broker do that can know (see inbox.Retention.SourceRetention).
	Retention inbox.Retention

	// Redact rewrites the texts of errors of handlers and of the sink before they are
	// logged, stored or sent: in attempts, dead letters and the outbox. Several goroutines
	// call it at once. Before that, credentials are masked as far as they can be
	// recognised: passwords in URLs, values of parameters such as password and token, and
	// bearer tokens. Default: no more than that.
	Redact func(text string) string
	// Environment names the deployment that this process belongs to, such as "production"
	// or "staging": for people, in dead letters, headrace status and alerts. Default: the
	// environment variable HEADRACE_ENVIRONMENT, else none; alerts then have the name of the database.
	Environment string
	// Build names the build of the program, in attempts, dead letters, headrace status and
	// alerts. Give each release another one. Default: the environment variable
	// HEADRACE_BUILD, else the VCS revision that Go recorded, else the module's version, if any.
	Build string
	// Logger logs what operators should know, each failed attempt among it: the error, the
	// handler, the key and the trace, once in 10 s for failures with the same cause, with
	// their number. It never logs payloads or header values. Default: slog.Default.
	Logger *slog.Logger
	// Alert receives alerts that a person should look at, in its own goroutine, as one of the
	// sinks of Alerts (see alerts.Sink). Default if Alerts has no Sinks: alerts.Log(Logger), without
	// the outages of the database, which Logger has with their cause.
	Alert alerts.Hook
	// Alerts say which sinks receive alerts, when, and how many. The zero value has its own
	// defaults.
	Alerts alerts.Options

	// TracerProvider makes the spans of receiving, processing and sending. Without an SDK
	// they cost almost nothing. Default: otel.GetTracerProvider().
	TracerProvider trace.TracerProvider
	// MeterProvider makes the instruments; see docs/operate.md for their names. The
	// gauges of the rows that wait in the database exist while Run is under way, and
	// query it at most once in 10 s. Default: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
}

// leastTime is the shortest sensible time. A shorter one is a number without a unit,
// which Go takes for nanoseconds.
const leastTime = time.Millisecond

// defaultDrain is the default of Config.DrainTimeout.
const defaultDrain = 20 * time.Second

// validate returns an error that names the first invalid field.
func (c Config) validate() error {
	const unlimited = math.MaxInt64
	for _, o := range []struct {
		name               string
		value, least, most int64 // besides 0, which is the default
	}{
		{"Concurrency", int64(c.Concurrency), 1, 1000},
		{"MaxBatch", int64(c.MaxBatch), 1, 10_000},
		{"MaxInFlight", int64(c.MaxInFlight), 1, 1_000_000},
		{"MaxInFlightBytes", c.MaxInFlightBytes, 1, unlimited},
		{"BatchTime", int64(c.BatchTime), 1, unlimited},
		{"HandlerTimeout", int64(c.HandlerTimeout), int64(leastTime), unlimited},
		{"DrainTimeout", int64(c.DrainTimeout), int64(leastTime), unlimited},
		{"NackPause", int64(c.NackPause), int64(leastTime), unlimited},
	} {
		switch {
		case o.value < 0:
			return fmt.Errorf("option Config.%s is negative (%d): 0 gives the default", o.name, o.value)
		case o.value > 0 && o.value < o.least:
			return fmt.Errorf("option Config.%s is %s: give it a unit, as in 30*time.Second", o.name, time.Duration(o.value))
		case o.value > o.most:
			return fmt.Errorf("option Config.%s is %d: more than %d is a mistake", o.name, o.value, o.most)
		}
	}
	for name, v := range map[string]any{"Source": c.Source, "Sink": c.Sink, "Codec": c.Codec, "TracerProvider": c.TracerProvider, "MeterProvider": c.MeterProvider} {
		if err := mistake.Nil(v); err != nil {
			return fmt.Errorf("option Config.%s: %w", name, err)
		}
	}
	for _, part := range []struct {
		name string
		err  error
	}{
		{"Retry", c.Retry.Validate()}, {"Retention", c.Retention.Validate()}, {"Alerts", c.Alerts.Validate()}, {"Relay", c.Relay.Validate()},
	} {
		if part.err != nil {
			return fmt.Errorf("option Config.%s: %w", part.name, part.err)
		}
	}
	for name, l := range c.Systems {
		if err := l.Validate(); err != nil {
			return fmt.Errorf("option Config.Systems[%q]: %w", name, err)
		}
	}
	return c.set().Publishing()
}

// withDefaults sets the zero fields to their defaults.
func (c Config) withDefaults() Config {
	c.Concurrency = cmp.Or(c.Concurrency, 4)
	c.MaxBatch = cmp.Or(c.MaxBatch, 64)
	c.BatchTime = cmp.Or(c.BatchTime, 100*time.Millisecond)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 512)
	c.MaxInFlightBytes = cmp.Or(c.MaxInFlightBytes, 64<<20)
	c.HandlerTimeout = cmp.Or(c.HandlerTimeout, 30*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, defaultDrain)
	c.NackPause = cmp.Or(c.NackPause, time.Second)
	c.Codec = cmp.Or(c.Codec, codec.JSON())
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.TracerProvider = cmp.Or(c.TracerProvider, otel.GetTracerProvider())
	c.MeterProvider = cmp.Or(c.MeterProvider, otel.GetMeterProvider())
	c.Retry = c.Retry.WithDefaults()
	c.Environment = cmp.Or(c.Environment, os.Getenv("HEADRACE_ENVIRONMENT"))
	c.Build = cmp.Or(c.Build, attempt.Build())
	if c.Key == nil {
		c.Key = inbox.DefaultKey()
	}
	if c.SameWhen == nil {
		c.SameWhen = inbox.Payload()
	}
	if c.OrderKey == nil {
		c.OrderKey = func(d *headrace.Delivery) string { return d.OrderKey }
	}
	if c.DeadLetterTopic == nil {
		c.DeadLetterTopic = func(topic string) string { return topic + ".dead" }
	}
	if c.Sink == nil {
		c.DeadLetterTopic = func(string) string { return "" }
	}
	if c.Alert == nil && len(c.Alerts.Sinks) == 0 {
		c.Alert = reporting.Log(c.Logger) // an alert names its consumer by itself
	}
	c.Logger = c.Logger.With("consumer", c.Name)
	if c.Alert != nil {
		c.Alerts.Sinks = append(slices.Clone(c.Alerts.Sinks), c.Alert)
	}
	all := c.Alerts.All()
	c.Alert = func(ctx context.Context, a alerts.Alert) error { // for what is sent beside Run
		a.Environment, a.Build = c.Environment, c.Build
		return all(ctx, a)
	}
	return c
}

// runtime are the options of the consumer's runtime. The config has its defaults.
func (c Config) runtime(st store.Store) runtime.Options {
	return runtime.Options{
		Name: c.Name, Environment: c.Environment, Build: c.Build, Store: st, Sink: c.Sink, Relay: c.Relay,
		Concurrency: c.Concurrency, MaxBatch: c.MaxBatch, BatchTime: c.BatchTime, MaxInFlight: c.MaxInFlight, MaxInFlightBytes: c.MaxInFlightBytes,
		DrainTimeout: c.DrainTimeout, NackPause: c.NackPause, DeadLetterTopic: c.DeadLetterTopic, Retention: c.Retention, Systems: c.Systems,
		Logger: c.Logger, Redact: c.Redact, Alert: c.Alert, Alerts: c.Alerts, TracerProvider: c.TracerProvider, MeterProvider: c.MeterProvider,
	}
}
