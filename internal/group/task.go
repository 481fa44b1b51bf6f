package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// Handler is a registration: what to run for the messages of a topic, and how.
type Handler struct {
	Consumer string
	Name     string
	Topic    string
	Scope    string // Consumer and Name
	// Alone gives each task a transaction of its own.
	Alone bool
	// Batch hands the whole group to Run at once.
	Batch bool
	// Strict keeps the order of keys across retries and processes.
	Strict bool
	// Intake takes messages into the backlog, which is worked off by Line.
	Intake bool
	// Leased is how a leased handler works; nil for any other. It needs Intake and Strict.
	// Run is then given what the work returned, as Input.Effects.
	Leased *Leased
	// Timeout bounds a run in a transaction.
	Timeout time.Duration
	Policy  retry.Policy
	// Decode turns the payload into what Run expects in Task.Body.
	Decode func(d *headrace.Delivery) (any, error)
	// Encode turns Event.Value into bytes; nil means JSON.
	Encode func(any) ([]byte, error)
	// Run calls the user's function: with one input, or with those of a group (Batch).
	Run func(ctx context.Context, tx *headrace.Tx, inputs []Input) error
	// Telemetry records what happens; nil records nothing.
	Telemetry *telemetry.Handler
}

// decode calls Decode, and turns a panic into an error.
func (h *Handler) decode(d *headrace.Delivery) (body any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("decode: panic of type %T", v)
		}
	}()
	return h.Decode(d)
}

// Input is what one run of a handler is given of a task. Each run has its own, so
// that what a handler changes in it, even one that was left behind, is seen by no
// other run.
type Input struct {
	Delivery headrace.Delivery
	Body     any
	receipt  *telemetry.Receipt
	// Effects are what the work of a leased handler returned.
	Effects headrace.Effects
}

// Task is a delivery on its way to one handler.
type Task struct {
	Delivery headrace.Delivery
	// Body is what Handler.Decode made.
	Body any
	// Bad is why no handler can be given this; the task becomes an undecodable
	// letter.
	Bad error
	// Context carries values for the handler; its end does not end the work. Nil
	// means none.
	Context context.Context
	// Settle is called once, with the outcome, from any goroutine. Nil for backlog
	// rows.
	Settle func(Outcome)
	// Receipt names the span in which the delivery was received; may be nil.
	Receipt *telemetry.Receipt

	// item is the backlog row that the task came from; nil for a live delivery.
	item *backlog.Item
	// used says that a run was given Body; the next one decodes again.
	used bool
	// unknown says that a COMMIT of this task had no answer.
	unknown bool
	// reruns counts what was run again at no attempt's cost.
	reruns int
	// accused says that a verdict on it for ending its process has been tried.
	accused bool
	// rest is how long the queue leaves it alone when it is given back.
	rest time.Duration
	// run is the span of the latest run until it is known what became of that, and
	// letter the class of the dead letter that a verdict wrote.
	run    *telemetry.Run
	letter dlq.Class
	// token is that of the lease under which a leased handler works; "" without one.
	token   string
	effects headrace.Effects
}

// lease names the task's lease.
func (t *Task) lease() backlog.Lease { return backlog.Lease{ID: t.ID(), Token: t.token} }

// ID names the message.
func (t *Task) ID() inbox.ID {
	return inbox.ID{Scope: t.Delivery.Scope, Key: t.Delivery.Key}
}

// before is the outcome of a task whose message has the row e already. Where a COMMIT
// of the task had no answer, the row is the answer.
func (t *Task) before(e inbox.Entry) Outcome {
	switch {
	case !t.unknown:
		return Duplicate
	case e.Stale:
		return Stale
	}
	switch e.State {
	case inbox.Done:
		return Applied
	case inbox.Waiting:
		return Waiting
	case inbox.Dead:
		return Dead
	}
	return Duplicate
}

// order is the key under which the task's order is kept.
func (t *Task) order() backlog.OrderKey {
	return backlog.OrderKey{Scope: t.Delivery.Scope, Key: t.Delivery.OrderKey}
}

// Outcome says what became of a delivery.
type Outcome int

// The outcomes. All but Released are durable, and the broker may be acknowledged.
const (
	// Applied: the effects are committed.
	Applied Outcome = iota
	// Duplicate: the message was taken before.
	Duplicate
	// Stale: the handler found it out of date.
	Stale
	// Waiting: the backlog has it.
	Waiting
	// Dead: the dead letters have it.
	Dead
	// Conflict: a dead letter of its own, because its key belongs to another message.
	Conflict
	// Released: nothing happened, and it may be delivered again.
	Released
)

// String names the outcome for logs.
func (o Outcome) String() string {
	return outcomes[o]
}

var outcomes = []string{"applied", "duplicate", "stale", "waiting", "dead", "conflict", "released"}

// Outcomes returns the names of the outcomes by their numbers.
func Outcomes() []string { return slices.Clone(outcomes) }

// failure is a run that failed.
type failure struct {
	task  *Task
	err   error
	stack []byte
	took  time.Duration
	// recorded is the number of its attempt, where a COMMIT that wrote it had no answer.
	recorded int
}

// class is the class of the failure as the database's error. What came of a deadline
// has none: it is the handler's, whatever it looks like.
func (f failure) class() txn.Class {
	if errors.Is(f.err, context.DeadlineExceeded) {
		return txn.Other
	}
	return txn.Classify(f.err)
}

// late reports whether the failure came of a deadline. A statement to which the database
// gives no answer looks like that, and is nobody's failure.
func (f failure) late() bool {
	return errors.Is(f.err, context.DeadlineExceeded) || errors.Is(f.err, ErrStuck)
}

// input returns what the next run is given.
func (t *Task) input(h *Handler) Input {
	body := t.Body
	if t.used && t.effects == nil {
		if again, err := h.decode(&t.Delivery); err == nil { // it did before
			body = again
		}
	}
	t.used = true
	return Input{Delivery: t.Delivery, Body: body, receipt: t.Receipt, Effects: t.effects}
}
