package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// Options of a Source. The zero value works: a zero field has the default that its comment
// names.
type Options struct {
	// MaxBody is the size of the largest body, in bytes. Default: 1 MiB.
	MaxBody int64
	// MaxInFlight is how many requests are read or wait for their commit at once, over all
	// endpoints; they hold up to MaxBody of memory each. Further ones are answered with 503.
	// Default: 256.
	MaxInFlight int
	// AckTimeout is how long a verified request waits for the commit. It should be shorter
	// than the sender waits. Default: 4 s, because Shopify waits 5 s.
	AckTimeout time.Duration
	// BodyTimeout is how long a body may take to arrive. Default: 5 s.
	BodyTimeout time.Duration
	// Headers are the request's headers that are stored with a message, besides
	// content-type and those of the Scheme. Authorization, Cookie and Proxy-Authorization
	// are rejected. Default: none.
	Headers []string
	// Retention is for how long senders deliver an event again, by hand too; see
	// inbox.Retention.SourceRetention. Default: 30 days.
	Retention time.Duration
	// Now returns the time with which signed times are compared. Default: time.Now.
	Now func() time.Time
	// Logger logs refused requests, at most one line for an endpoint in 10 s. Default:
	// slog.Default.
	Logger *slog.Logger
	// MeterProvider makes the counter. Default: otel.GetMeterProvider().
	MeterProvider metric.MeterProvider
}

// validate returns an error that names the first invalid field.
func (o Options) validate() error {
	for _, n := range []struct {
		name  string
		value int64
	}{{"MaxBody", o.MaxBody}, {"MaxInFlight", int64(o.MaxInFlight)}} {
		if n.value < 0 {
			return fmt.Errorf("option Options.%s is negative (%d): 0 gives the default", n.name, n.value)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"AckTimeout", o.AckTimeout}, {"BodyTimeout", o.BodyTimeout}, {"Retention", o.Retention}} {
		switch {
		case d.value < 0:
			return fmt.Errorf("option Options.%s is negative (%s): 0 gives the default", d.name, d.value)
		case d.value > 0 && d.value < time.Millisecond:
			return fmt.Errorf("option Options.%s is %s: give it a unit, as in 4*time.Second", d.name, d.value)
		}
	}
	for _, h := range o.Headers {
		if err := mayStore(h); err != nil {
			return fmt.Errorf("option Options.Headers: %w", err)
		}
	}
	return nil
}

// mayStore returns an error for a header that would store credentials.
func mayStore(header string) error {
	switch http.CanonicalHeaderKey(header) {
	case "":
		return errors.New("a header has no name")
	case "Authorization", "Cookie", "Proxy-Authorization":
		return fmt.Errorf("%s has credentials, which are not stored: leave it out", header)
	}
	return nil
}

// withDefaults sets the zero fields to their defaults.
func (o Options) withDefaults() Options {
	o.MaxBody = cmp.Or(o.MaxBody, 1<<20)
	o.MaxInFlight = cmp.Or(o.MaxInFlight, 256)
	o.AckTimeout = cmp.Or(o.AckTimeout, 4*time.Second)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 5*time.Second)
	o.Retention = cmp.Or(o.Retention, 30*24*time.Hour)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	return o
}
