package relay

import (
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
)

// Options tune a Relay. The zero value works.
type Options struct {
	// SinkID identifies where the sink publishes to, such as "kafka in Frankfurt". Relays of
	// two consumers share an outbox only if their SinkIDs are equal: otherwise the later
	// consumer's Run returns ErrOwned, since the relay of either would publish the events of both.
	// It has no password, user or token in it. Default: what the sink's method SinkID() string
	// returns, which those under broker/ have, but for postgres and sqs. Otherwise none: then only
	// processes of one consumer share the outbox, and New, which knows no consumer, requires it.
	SinkID string
	// Workers is how many shards are published at a time. Each uses a database connection
	// (not on SQLite). At most outbox.Shards. Default 2.
	Workers int
	// Concurrency is how many calls of Publish a batch makes at a time. Default 16.
	Concurrency int
	// BatchRows is the largest number of rows in a batch. Default 1,000.
	BatchRows int
	// BatchBytes is the approximate payload of a batch, estimated from the size of
	// earlier rows; at least one row. Default 4 MiB.
	BatchBytes int

	// PublishTimeout is how long a call of Publish may take. Default 30 s.
	PublishTimeout time.Duration
	// StopTimeout is how long Run lets calls of Publish finish after its context has
	// ended. Then it cancels their messages' context. Default 10 s.
	StopTimeout time.Duration
	// MaxStuck bounds the calls of Publish that have not returned in time: at that number
	// the relay makes no other call, though calls under way may still add to them.
	// Default: twice Concurrency.
	MaxStuck int

	// MaxAttempts is how often the sink refuses a row before it is parked. Default 10.
	MaxAttempts int
	// Backoff is the delay before a refused row is tried again. Default: 1 s to
	// 5 min, factor 2, jitter 0.2.
	Backoff retry.Backoff

	// MinPoll and MaxPoll are the time between two polls of the outbox while it is busy
	// and while it is idle. An event waits on average half of MinPoll if the relay is
	// busy. Default 2 ms and 1 s.
	MinPoll, MaxPoll time.Duration

	// Redact rewrites the texts of the sink's errors before they are stored or logged.
	// Default: credentials are masked, as far as they can be recognised. That is also done
	// before Redact is called.
	Redact func(text string) string
	// Logger logs stalls, failures of the database and parked rows. Default:
	// slog.Default().
	Logger *slog.Logger
	// OnParked is called for each parked row, after the commit. OnStalled is called with
	// the sink's error, or one that matches ErrWaiting, when the relay stalls, and with nil when it goes on. OnError is
	// called with the first error of the database, and with nil when the database works
	// again. They must not block, and several goroutines may call them at once. May be
	// nil.
	OnParked  func(Parked)
	OnStalled func(error)
	OnError   func(error)

	// Name is the label that separates the relay's metrics from those of other relays in
	// the same process. Default: "relay", or the name of the consumer that started the
	// relay.
	Name string
	// TracerProvider makes the span of each send, MeterProvider the instruments. The
	// gauges query the outbox at most once in 10 s while Run is under way. Default:
	// otel.GetTracerProvider() and otel.GetMeterProvider().
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
}

// Parked is a row that waits for a person to act, without its payload.
type Parked struct {
	// RowID, EventID, Topic and OrderKey name the row and its event.
	RowID    int64
	EventID  string
	Topic    string
	OrderKey string
	// Attempts is how often the sink refused it.
	Attempts int
	// Error is the sink's error text, capped.
	Error string
}

// cutTime is how long the last statements may take after the messages' context has ended;
// then their connections are closed. leaveTime later the relay abandons them.
const (
	cutTime   = 10 * time.Second
	leaveTime = 5 * time.Second
)

// Validate returns an error that names the first invalid option.
func (o Options) Validate() error {
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"Workers", int64(o.Workers)}, {"Concurrency", int64(o.Concurrency)}, {"BatchRows", int64(o.BatchRows)},
		{"BatchBytes", int64(o.BatchBytes)}, {"PublishTimeout", int64(o.PublishTimeout)},
		{"StopTimeout", int64(o.StopTimeout)}, {"MaxStuck", int64(o.MaxStuck)}, {"MaxAttempts", int64(o.MaxAttempts)},
		{"MinPoll", int64(o.MinPoll)}, {"MaxPoll", int64(o.MaxPoll)},
	} {
		if n.value < 0 {
			return fmt.Errorf("relay: Options.%s is negative (%d)", n.name, n.value)
		}
	}
	if o.Workers > outbox.Shards {
		return fmt.Errorf("relay: Options.Workers is %d, and an outbox has %d shards: more have no work", o.Workers, outbox.Shards)
	}
	if o.MaxPoll > 0 && o.MinPoll > o.MaxPoll {
		return fmt.Errorf("relay: Options.MinPoll (%s) is above MaxPoll (%s)", o.MinPoll, o.MaxPoll)
	}
	if err := (retry.Policy{Backoff: o.Backoff}).Validate(); err != nil {
		return fmt.Errorf("relay: Options.Backoff: %w", err)
	}
	return nil
}

func (o Options) withDefaults() Options {
	set(&o.Workers, 2)
	set(&o.Concurrency, 16)
	set(&o.BatchRows, 1000)
	set(&o.BatchBytes, 4<<20)
	set(&o.PublishTimeout, 30*time.Second)
	set(&o.StopTimeout, 10*time.Second)
	set(&o.MaxStuck, 2*o.Concurrency)
	set(&o.MinPoll, 2*time.Millisecond)
	set(&o.MaxAttempts, 10)
	set(&o.Backoff, retry.Backoff{Initial: time.Second, Max: 5 * time.Minute, Factor: 2, Jitter: 0.2})
	set(&o.Logger, slog.Default())
	set(&o.Name, "relay")
	if o.OnParked == nil {
		o.OnParked = func(Parked) {}
	}
	if o.OnStalled == nil {
		o.OnStalled = func(error) {}
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	return o
}

func set[T comparable](field *T, otherwise T) {
	var zero T
	if *field == zero {
		*field = otherwise
	}
}
