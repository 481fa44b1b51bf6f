package postgres

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/headrace/headrace/broker/internal/flow"
)

// SourceOptions configure a Source.
type SourceOptions struct {
	// DB has the tables; the caller closes it after the Source. Required.
	DB *sql.DB
	// Schema is the schema of the tables. Default: "public".
	Schema string
	// Group is the consumer's name; all of its processes use the same one. Required.
	Group string

	// Window is how many messages each subscription holds at most, 1 to 10,000. Default
	// 256.
	Window int
	// MaxBytes is how many bytes of payload and metadata a subscription may hold. The next
	// read asks for as many messages as are likely to fit, by the size of those before, so
	// messages that are larger exceed it once. Default 64 MiB.
	MaxBytes int64
	// Lease is how long a process may give no sign of life before others get its
	// messages, 1 s to 24 h. Default 30 s.
	Lease time.Duration
	// NackDelay is how long a message that was given back stays away, 10 ms to 24 h.
	// Default 1 s.
	NackDelay time.Duration
	// Poll is the pause between two polls of an empty queue, 1 ms to 1 minute. Default
	// 200 ms.
	Poll time.Duration
	// CloseTimeout bounds the writing of settlements when a subscription ends, 1 ms to
	// 1 h. Unwritten messages come again. Default 10 s.
	CloseTimeout time.Duration
	// Logger logs outages, once each. No payloads. Default: slog.Default.
	Logger *slog.Logger
}

// SinkOptions configure a Sink.
type SinkOptions struct {
	// DB has the tables; the caller closes it after the Sink. Required.
	DB *sql.DB
	// Schema is the schema of the tables. Default: "public".
	Schema string
	// PublishTimeout bounds a call of Publish; if the network drops all packets it takes
	// two seconds more. At most 1 h. Default 10 s.
	PublishTimeout time.Duration
	// UnsafeNoGroup drops messages to a topic that no group subscribed to.
	UnsafeNoGroup bool
}

const (
	leastLease     = time.Second
	leastNackDelay = 10 * time.Millisecond
	mostPause      = 24 * time.Hour
	mostPoll       = time.Minute
	mostWindow     = 10_000
)

func (o SourceOptions) validate() error {
	switch {
	case o.DB == nil:
		return errors.New("option DB is nil")
	case o.Group == "":
		return errors.New("option Group is empty: give it the consumer's name, the same in every process")
	case o.Window < 0 || o.Window > mostWindow:
		return fmt.Errorf("option Window is %d: it may be 1 to %d, 0 gives the default", o.Window, mostWindow)
	case o.MaxBytes < 0:
		return fmt.Errorf("option MaxBytes is negative (%d): 0 gives the default", o.MaxBytes)
	}
	return flow.Times(
		// With less a short silence of the process would already count as its death, and a message
		// that is given back would come again and again without a pause.
		flow.Time{Name: "Lease", Value: o.Lease, Least: leastLease, Most: mostPause},
		flow.Time{Name: "NackDelay", Value: o.NackDelay, Least: leastNackDelay, Most: mostPause},
		flow.Time{Name: "Poll", Value: o.Poll, Most: mostPoll}, flow.Time{Name: "CloseTimeout", Value: o.CloseTimeout},
	)
}

func (o SourceOptions) withDefaults() SourceOptions {
	if o.Schema == "" {
		o.Schema = "public"
	}
	if o.Window == 0 {
		o.Window = 256
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	if o.Lease == 0 {
		o.Lease = 30 * time.Second
	}
	if o.NackDelay == 0 {
		o.NackDelay = time.Second
	}
	if o.Poll == 0 {
		o.Poll = 200 * time.Millisecond
	}
	if o.CloseTimeout == 0 {
		o.CloseTimeout = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// quoted returns schema as an identifier.
func quoted(schema string) string { return `"` + strings.ReplaceAll(schema, `"`, `""`) + `"` }
