package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// Options configure a Source. The zero value has the defaults that the comments name.
type Options struct {
	// MaxBody is the largest body in bytes, 1 to 64 MiB. Default 1 MiB.
	MaxBody int64
	// MaxInFlight is how many requests may wait at once, each with its body in memory.
	// Default 64.
	MaxInFlight int
	// AckTimeout is how long a request waits for the commit, 100 ms to a minute. It must be
	// shorter than what the sender waits: Shopify waits five seconds, GitHub ten. Default
	// 4 s.
	AckTimeout time.Duration
	// Headers are the names of further headers that become metadata. Those of secrets do
	// not belong here: metadata are stored, and shown to operators.
	Headers []string
	// Retention is for how long a sender may tell an event again, by hand too: see
	// inbox.Retention. Default 30 days.
	Retention time.Duration
	// Logger logs refused requests, at most once a minute for each endpoint. Default:
	// slog.Default.
	Logger *slog.Logger
	// MeterProvider makes the counter headrace.webhook.requests, by topic and status code.
	// Default: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
	// Now returns the time with which signed times are compared. Default: time.Now.
	Now func() time.Time
}

const (
	bodyMost   = 64 << 20
	flightMost = 100_000
	ackLeast   = 100 * time.Millisecond
	ackMost    = time.Minute
)

func (o Options) validate() error {
	if o.MaxBody < 0 || o.MaxBody > bodyMost {
		return fmt.Errorf("option Options.MaxBody is %d: it may be 1 to %d bytes, or 0 for the default", o.MaxBody, bodyMost)
	}
	if o.MaxInFlight < 0 || o.MaxInFlight > flightMost {
		return fmt.Errorf("option Options.MaxInFlight is %d: it may be 1 to %d, or 0 for the default", o.MaxInFlight, flightMost)
	}
	if o.AckTimeout != 0 && (o.AckTimeout < ackLeast || o.AckTimeout > ackMost) {
		return fmt.Errorf("option Options.AckTimeout is %s: it may be %s to %s, or 0 for the default", o.AckTimeout, ackLeast, ackMost)
	}
	if o.Retention < 0 {
		return fmt.Errorf("option Options.Retention is %s: give how long a sender may tell an event again, or 0 for the default", o.Retention)
	}
	for _, name := range o.Headers {
		if name == "" {
			return errors.New("option Options.Headers has an empty name")
		}
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.MaxBody = cmp.Or(o.MaxBody, 1<<20)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 64)
	o.AckTimeout = cmp.Or(o.AckTimeout, 4*time.Second)
	o.Retention = cmp.Or(o.Retention, 30*24*time.Hour)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.MeterProvider = cmp.Or(o.MeterProvider, otel.GetMeterProvider())
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
