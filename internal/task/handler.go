package task

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/plan"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/retry"
)

// Handler is a registration: what to run for the messages of a topic, and how.
type Handler struct {
	Consumer string
	Name     string
	Topic    string
	Scope    string // Consumer and Name
	// Database returns the id of the database's headrace; nil means "".
	Database func() string
	// Alone gives each message a transaction of its own.
	Alone bool
	// Batch passes all messages of a transaction to Run at once.
	Batch bool
	// Strict keeps the order of keys across retries and processes. It needs Intake.
	Strict bool
	// Intake takes messages into the backlog, and runs them from there.
	Intake bool
	// Leased configures a leased handler; nil for any other. It needs Intake and Strict.
	// Run then gets the result of the work as Input.Effects.
	Leased *Leased
	// Rehearsable says that it touches nothing but the database in a rehearsal.
	Rehearsable bool
	// Timeout bounds a run in a transaction.
	Timeout time.Duration
	Policy  retry.Policy
	// Identify sets the key, fingerprint, order key and body of a task whose row of the
	// backlog has no key yet, or Bad. It runs the user's functions, and never panics.
	Identify func(t *Task)
	// Verify returns an error if the key that a caller has given d, an intent, is not that of
	// the handler's key function. It never panics; nil verifies nothing.
	Verify func(d *headrace.Delivery) error
	// Decode turns the payload into the Input.Body for Run.
	Decode func(d *headrace.Delivery) (any, error)
	// Encoder turns Event.Value into bytes; nil means JSON.
	Encoder headrace.Encoder
	// Run calls the user's function with one input, or with those of a batch (Batch).
	Run func(ctx context.Context, tx *headrace.Tx, inputs []Input) error
	// Telemetry records runs and outcomes; nil records nothing.
	Telemetry *telemetry.Handler
	// Lettered is called with each dead letter that is committed; nil is not called.
	Lettered func(*dlq.Letter)
	// Pace learns from each transaction.
	Pace Pace
}

// Find returns the handler of a name; nil if there is none.
func Find(handlers []*Handler, name string) *Handler {
	for _, h := range handlers {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// Leased configures a leased handler.
type Leased struct {
	// Slots is how many messages it works on at a time.
	Slots int
	// Term is how long a lease lasts if it is not extended.
	Term time.Duration
	// Timeout bounds the work, which uses no transaction.
	Timeout time.Duration
	// Plan declares the steps of package ledger; nil for none.
	Plan *plan.Plan
	// Work does the work, and returns the effects to commit; nil for none.
	Work func(ctx context.Context, in Input) (headrace.Effects, error)
}

// Call describes a call of the user's function to a runner.
type Call interface {
	// Of returns the handler, and the number of messages.
	Of() (*Handler, int)
	// Returned is called when an abandoned call returns.
	Returned()
}

// Input is the input of one run of a handler. Each run has its own, so that no other run
// sees what a handler changes in it, even an abandoned one.
type Input struct {
	Delivery headrace.Delivery
	Body     any
	Receipt  *telemetry.Receipt
	// Effects are the result of a leased handler's work.
	Effects headrace.Effects
}

// Resolve decodes the payload into t.Body, or sets t.Bad to the error. A panic of the
// codec is such an error, and so is an intent whose key is not the handler's.
func (h *Handler) Resolve(t *Task) {
	t.Body, t.Bad = h.decode(&t.Delivery)
	if t.Bad == nil && t.Delivery.Coordinates.Broker == inbox.Intent && h.Verify != nil {
		t.Bad = h.Verify(&t.Delivery)
	}
	t.used = false
}

func (h *Handler) decode(d *headrace.Delivery) (body any, err error) {
	p, err := attempt.Catch(func() error { body, err = h.Decode(d); return err })
	if p != nil {
		return nil, fmt.Errorf("decode: panic of type %T", p.Value)
	}
	return body, Sound(err)
}

// Sound returns err, of a key function or a codec, or another error if a method of err
// panics. If one calls runtime.Goexit, so does Sound.
func Sound(err error) error {
	if runner.Probe(err) != nil {
		return fmt.Errorf("an error of type %T, with a method that panics, or that wraps itself", err)
	}
	return err
}

// Rehearsal returns the handler for a rehearsal: its runs take no longer than limit, and
// nothing is recorded of them.
func (h *Handler) Rehearsal(limit time.Duration) *Handler {
	return &Handler{
		Consumer: h.Consumer, Name: h.Name, Topic: h.Topic, Scope: h.Scope, Database: h.Database, Batch: h.Batch, Timeout: min(h.Timeout, limit), Policy: h.Policy,
		Identify: h.Identify, Verify: h.Verify, Decode: h.Decode, Encoder: h.Encoder, Run: h.Run,
	}
}
