package task

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/telemetry"
)

// Task is a delivery for one handler.
type Task struct {
	Handler  *Handler
	Delivery headrace.Delivery
	// Body is the result of Handler.Decode.
	Body any
	// Bad says why no handler can take the message; it becomes an undecodable dead
	// letter.
	Bad error
	// Held says why the message must not be given to its handler now; it is the failure of
	// its run.
	Held error
	// Context carries values for the handler; its end does not end the work. Nil means
	// none.
	Context context.Context
	// Settle acknowledges a delivery, or gives it back. It is called once, with the
	// outcome, from any goroutine. Nil for rows of the backlog.
	Settle func(Outcome)
	// Finish is called once by the worker that processes a delivery, with its outcome: see
	// dispatch.Dispatcher. Nil for rows of the backlog.
	Finish func(Outcome)
	// Rest is how long a task waits before it runs again.
	Rest time.Duration
	// Receipt names the span in which the delivery was received; may be nil.
	Receipt *telemetry.Receipt

	// Item is the row of the backlog that the task came from; nil for a live delivery.
	Item *backlog.Item
	// Token is the lease's token for leased work; "" without a lease.
	Token string
	// Effects are the result of leased work.
	Effects headrace.Effects

	// Unknown says that a COMMIT of this task had no answer.
	Unknown bool
	// Reruns counts the runs since the last attempt that cost no attempt.
	Reruns int
	// Letter is the dead letter that the current transaction wrote for it, or opened again;
	// nil if there is none.
	Letter *dlq.Letter

	run  *telemetry.Run // the span of the latest run, until its outcome is known
	used bool           // a run has used Body; the next one decodes again
}

// ID returns the message's id.
func (t *Task) ID() inbox.ID { return inbox.ID{Scope: t.Delivery.Scope, Key: t.Delivery.Key} }

// IDs returns the ids of the tasks' messages.
func IDs(tasks []*Task) []inbox.ID {
	ids := make([]inbox.ID, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID()
	}
	return ids
}

// TellLetter counts the letter of the outcome o, which is committed, and reports it, if there
// is one. A Letter of another outcome is of a transaction that was rolled back.
func (t *Task) TellLetter(o Outcome) {
	if t.Letter == nil || o != Dead && o != Conflict {
		return
	}
	t.Handler.Telemetry.DeadLettered(&t.Delivery, string(t.Letter.Class))
	if t.Handler.Lettered != nil {
		t.Handler.Lettered(t.Letter)
	}
}

// Lease returns the task's lease.
func (t *Task) Lease() backlog.Lease { return backlog.Lease{RowID: t.Item.RowID, Token: t.Token} }

// StrictKey returns the order key of the task's row, if its order is strict.
func (t *Task) StrictKey() (backlog.OrderKey, bool) {
	if t.Item == nil {
		return backlog.OrderKey{}, false
	}
	return t.Item.OrderKey()
}

// Input returns the input of the next run.
func (t *Task) Input() Input {
	body := t.Body
	if t.used && t.Effects == nil {
		if again, err := t.Handler.decode(&t.Delivery); err == nil { // the first decoding succeeded
			body = again
		}
	}
	t.used = true
	in := Input{Delivery: t.Delivery, Body: body, Receipt: t.Receipt, Effects: t.Effects}
	if t.Handler.Database != nil {
		in.Delivery.Database = t.Handler.Database()
	}
	return in
}

// OutcomeOf is the outcome of a task whose message already has the row e. After a COMMIT
// without an answer, the row shows its outcome.
func (t *Task) OutcomeOf(e inbox.Entry) Outcome {
	switch {
	case !t.Unknown:
		return Duplicate
	case e.Stale:
		return Stale
	case e.State == inbox.Done:
		return Applied
	case e.State == inbox.Waiting:
		return Waiting
	case e.State == inbox.Dead:
		return Dead
	}
	return Duplicate
}

// Began stores the span of a run that begins, and ends the previous one.
func (t *Task) Began(run *telemetry.Run) {
	t.End(telemetry.RolledBack)
	t.run = run
}

// Failed records the failure in the span of the run.
func (t *Task) Failed(class, errorType, fingerprint string) {
	t.run.Fail(class, errorType, fingerprint)
}

// End ends the span of the latest run, if there is one.
func (t *Task) End(outcome string) {
	t.run.End(outcome)
	t.run = nil
}

// Outcome is the result of a delivery.
type Outcome int

// The outcomes. All but Released are durable, and the delivery may be acknowledged.
const (
	// Applied: the effects are committed.
	Applied Outcome = iota
	// Duplicate: the message was taken earlier.
	Duplicate
	// Stale: the handler found it out of date.
	Stale
	// Waiting: the backlog has it.
	Waiting
	// Dead: the dead letters have it.
	Dead
	// Conflict: it is a dead letter, because its key belongs to another message.
	Conflict
	// Released: nothing was done, and it may be delivered again.
	Released
)

var outcomes = []string{"applied", "duplicate", "stale", "waiting", "dead", "conflict", "released"}

// String names the outcome for logs.
func (o Outcome) String() string { return outcomes[o] }

// Outcomes returns the names of the outcomes by their numbers.
func Outcomes() []string { return slices.Clone(outcomes) }

// InOrder sorts tasks by handler and order key, stably within a key, so that concurrent
// transactions touch the user's rows in one order. Rows of a strict key are sorted by
// RowID.
func InOrder(tasks []*Task) {
	slices.SortStableFunc(tasks, func(a, b *Task) int {
		order := cmp.Or(cmp.Compare(a.Handler.Name, b.Handler.Name), cmp.Compare(a.Delivery.OrderKey, b.Delivery.OrderKey))
		if order == 0 && a.Item != nil && b.Item != nil && a.Item.Strict && a.Delivery.OrderKey != "" {
			order = cmp.Compare(a.Item.RowID, b.Item.RowID)
		}
		return order
	})
}
