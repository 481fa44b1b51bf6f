package story

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/examples/orders/billing"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/tests/endtoend/shopify"
)

// Program is what is tested: a consumer that runs until ctx ends.
type Program func(ctx context.Context, w World) error

// World is what a Program runs in.
type World struct {
	Store store.Store
	// Source delivers the topic Orders. What is published to Confirmations goes to Sink.
	Source                message.Subscriber
	Sink                  message.Publisher
	Orders, Confirmations string
	Logger                *slog.Logger
	// Meters is nil where nothing is measured.
	Meters metric.MeterProvider
	// MaxInFlight is for consumer.Config; 0 is its default.
	MaxInFlight int

	simulate bool // faults
}

// What faultHeader may ask for.
const (
	faultPanic     = "panic"     // the first run panics
	faultTransient = "transient" // the first runs fail
)

// transientRuns is how many runs of a webhook with faultTransient fail: one more than the policy repeats at
// once, so that the message goes through the backlog.
const transientRuns = 3

// errSimulated is what a simulated fault fails with.
var errSimulated = errors.New("simulated: connection reset by the tax service")

// Faulty fails the first runs of a generated webhook that asks for it, after the effect was written, so
// that the rollback is part of the story too. A restarted process may fail some of them again.
func (w World) Faulty(next billing.Handler) billing.Handler {
	if !w.simulate {
		return next
	}
	return func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[shopify.Order]) error {
		if err := next(ctx, tx, m); err != nil {
			return err
		}
		switch fault := m.Metadata[faultHeader]; {
		case fault == faultPanic && m.Attempt <= 1:
			panic("simulated: index out of range")
		case fault == faultTransient && m.Attempt <= transientRuns:
			return errSimulated
		}
		return nil
	}
}
