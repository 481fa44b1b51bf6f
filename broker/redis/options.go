package redis

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/broker/internal/flow"
)

// flightMost bounds InFlight.
const flightMost = 100_000

// SourceOptions configure a Source. Client and Group are required.
type SourceOptions struct {
	// Client is the Redis client. The caller closes it after the Source.
	Client goredis.UniversalClient
	// Group is the consumer group: its sources share a stream's entries.
	Group string
	// Name is this source's name in the group; two running sources must not share one.
	// Default: a new one.
	Name string
	// Stream returns the key of a topic's stream. Default: the topic.
	Stream func(topic string) string
	// Start is where a new group begins to read: "0" reads everything, "$" only entries
	// added later, or the id of an entry. Default "0".
	Start string
	// ClaimAfter is how long an owner must be silent about an entry until others take it:
	// a message waits that long if a process dies. At least 1 s. Default 30 s.
	ClaimAfter time.Duration
	// ClaimEvery is how often to look for such entries. At least 10 ms. Default 1 s.
	ClaimEvery time.Duration
	// NackDelay is how long a nacked entry rests, at least 100 ms and at most ClaimAfter.
	// It may take up to ClaimEvery longer. Default 1 s.
	NackDelay time.Duration
	// Block is how long a read, and therefore also Close, waits for entries; 10 ms to 1
	// minute. Default 500 ms.
	Block time.Duration
	// InFlight is how many entries of a subscription may be read and not yet settled, at
	// most 100,000. Default: 512, or Demands.InFlight if that is more.
	InFlight int
	// MaxBytes is how many bytes of payload and metadata a subscription may have read and
	// not yet settled. The next read asks for as many entries as are likely to fit, by the
	// size of those before, so entries that are larger exceed it once. Default 64 MiB.
	MaxBytes int64
	// Delete removes an entry from the stream with its acknowledgement. Only for streams
	// that no other group reads.
	Delete bool
	// Scalars reads an entry without payload, as XADD orders * id 7 from redis-cli writes,
	// as a JSON object in which values that are JSON numbers, true, false or null are no
	// strings: {"id":7}. Text that looks like one ("42" as a name) is a number then.
	// Default: all values are strings.
	Scalars bool
	// Retention is the longest time that entries stay in the streams; Retention()
	// declares it to the inbox. Default: unknown, so that nothing is pruned.
	Retention time.Duration
	// CloseTimeout bounds the requests that write settlements when a subscription ends.
	// Default 10 s.
	CloseTimeout time.Duration
	// Logger logs outages, and entries that were removed before the group had read them.
	// Default: slog.Default().
	Logger *slog.Logger
	// MeterProvider makes the counter headrace.redis.lost: such entries, by stream and
	// group, counted once for all processes. Default: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// UnsafeEviction allows a server that may remove a stream when memory is short.
	UnsafeEviction bool
	// UnsafeVolatile allows a server that keeps streams only in memory.
	UnsafeVolatile bool
}

// entryID is the form of an entry's id; the number after the time may be missing.
var entryID = regexp.MustCompile(`^[0-9]{1,20}(-[0-9]{1,20})?$`)

func (o SourceOptions) validate() error {
	err := flow.Times(
		flow.Time{Name: "SourceOptions.ClaimAfter", Value: o.ClaimAfter, Least: time.Second, Most: 24 * time.Hour},
		flow.Time{Name: "SourceOptions.ClaimEvery", Value: o.ClaimEvery, Least: 10 * time.Millisecond},
		flow.Time{Name: "SourceOptions.NackDelay", Value: o.NackDelay, Least: 100 * time.Millisecond, Most: cmp.Or(o.ClaimAfter, defaultClaimAfter)},
		flow.Time{Name: "SourceOptions.Block", Value: o.Block, Least: 10 * time.Millisecond, Most: time.Minute},
		flow.Time{Name: "SourceOptions.Retention", Value: o.Retention, Most: 100 * 365 * 24 * time.Hour},
		flow.Time{Name: "SourceOptions.CloseTimeout", Value: o.CloseTimeout},
	)
	switch {
	case err != nil:
		return err
	case o.Client == nil:
		return errors.New("option SourceOptions.Client is missing: give go-redis' redis.NewClient(…)")
	case strings.TrimSpace(o.Group) == "":
		return errors.New("option SourceOptions.Group is missing: name the consumer group that shares the streams' entries")
	case o.Start != "" && o.Start != "$" && !entryID.MatchString(o.Start):
		return fmt.Errorf("option SourceOptions.Start is %q: it may be \"0\", \"$\", or the id of an entry, as in \"1700000000000-0\"", o.Start)
	case o.MaxBytes < 0:
		return fmt.Errorf("option SourceOptions.MaxBytes is negative (%d): 0 gives the default", o.MaxBytes)
	case o.InFlight < 0 || o.InFlight > flightMost:
		return fmt.Errorf("option SourceOptions.InFlight is %d: it may be 1 to %d, or 0 for the default", o.InFlight, flightMost)
	}
	return nil
}

const defaultClaimAfter = 30 * time.Second

// namePrefix begins generated names. Such consumers are removed from their group when
// they have been silent for sweepAfter and have no pending entries.
const (
	namePrefix = "headrace-"
	sweepAfter = time.Hour
)

func (o SourceOptions) withDefaults() SourceOptions {
	if o.Stream == nil {
		o.Stream = func(topic string) string { return topic }
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.Name = cmp.Or(o.Name, namePrefix+uuid.NewString())
	o.Start = cmp.Or(o.Start, "0")
	o.ClaimAfter = cmp.Or(o.ClaimAfter, defaultClaimAfter)
	o.ClaimEvery = cmp.Or(o.ClaimEvery, time.Second)
	o.NackDelay = cmp.Or(o.NackDelay, min(time.Second, o.ClaimAfter))
	o.Block = cmp.Or(o.Block, 500*time.Millisecond)
	o.CloseTimeout = cmp.Or(o.CloseTimeout, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.MeterProvider = cmp.Or(o.MeterProvider, otel.GetMeterProvider())
	return o
}
