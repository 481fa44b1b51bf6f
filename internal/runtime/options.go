package runtime

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/store"
)

// Options configure a Runtime: see consumer.Config. All are required, except Sink,
// Relay, Retention and Systems.
type Options struct {
	Name             string
	Environment      string
	Build            string
	Store            store.Store
	Sink             message.Publisher
	Relay            relay.Options
	Concurrency      int
	MaxBatch         int
	BatchTime        time.Duration
	MaxInFlight      int
	MaxInFlightBytes int64
	DrainTimeout     time.Duration
	NackPause        time.Duration
	DeadLetterTopic  func(topic string) string
	Retention        inbox.Retention
	Systems          map[string]ledger.Limit
	Logger           *slog.Logger
	Redact           func(string) string
	Alert            alerts.Hook
	Alerts           alerts.Options
	TracerProvider   trace.TracerProvider
	MeterProvider    metric.MeterProvider
}

// The errors of package consumer.
var (
	ErrSubscriptionEnded = errors.New("subscription ended")
	ErrDrainTimeout      = errors.New("still running after the drain time")
	ErrRunning           = errors.New("the consumer has been started")
	ErrNotRunning        = errors.New("not running")
)

// The errors of a Run that abandoned calls.
var (
	errReceiving = fmt.Errorf("Source.Subscribe or Healthy, or a function of Config: %w", ErrDrainTimeout)
	errTaken     = fmt.Errorf("a message was neither acknowledged nor given back, by a middleware outside: %w", ErrDrainTimeout)
	errHung      = fmt.Errorf("a statement has no answer from the database, and still waits for it: %w", ErrDrainTimeout)
)

const (
	// Grace is how long a handler may run after its deadline before it is abandoned, and
	// how long an alert hook may run at the end.
	Grace = 5 * time.Second
	// storeTimeout bounds our own statements of one transaction.
	storeTimeout = 30 * time.Second
	// lockTimeout bounds a batch's wait for keys that other transactions hold.
	lockTimeout = 200 * time.Millisecond
	// RecordTime and cutTime bound the last steps of a stop. When the drain time is over,
	// handlers have Grace to return after their context ended, and the statements after
	// them RecordTime in all. Then the connections of open transactions are cut. Calls
	// that still run after cutTime wait for a database over a connection that the store
	// cannot reach.
	RecordTime = 10 * time.Second
	cutTime    = 5 * time.Second
)
