package consumer

import (
	"context"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/plan"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/ledger"
)

// LeasedFunc does slow work for one message: calls to other systems, a large file, a
// language model. It holds no transaction and no connection meanwhile. The Effects that
// it returns are run and committed at the end, together with the record that the message
// was handled; nil commits the record alone.
//
// The work is done at least once; the Effects are applied once. An error spends an
// attempt (see package retry for the exceptions). ctx ends with the deadline (Timeout),
// and at once if the lease is lost: another process may have the message then, and the
// result of f is dropped.
type LeasedFunc[T any] func(ctx context.Context, m *headrace.Message[T]) (headrace.Effects, error)

// Defaults and limits of leased handlers.
const (
	defaultLease   = 30 * time.Second
	defaultWork    = 10 * time.Minute
	leastLease     = 100 * time.Millisecond
	mostConcurrent = 1000
)

// HandleLeased registers f for the messages of topic. Run returns the mistakes in a
// registration.
//
// The consumer takes messages off the broker at once, as with Intake, so f may take
// longer than the broker waits for an acknowledgement. Every process that runs the
// consumer works on them, Concurrency at a time, under leases that it extends while f
// works. Messages of one order key are handled one at a time: the next starts after the
// one before is applied or a dead letter.
//
// A lease that ends because its process was killed, froze or lost the database for its
// whole term counts as an attempt, of class retry.Lost. Three such attempts make a
// message a dead letter, not fewer, so a deploy that kills its processes counts against
// no message. Work under way when the consumer stops has Config.DrainTimeout. Then its
// context ends, and the lease is given back, which costs no attempt.
//
// Calls of other systems may happen again: send m.IdempotencyKey() with them, or record
// each of them as a step (Steps).
//
// Timeout bounds the work, by default 10 minutes; Config.HandlerTimeout bounds its
// Effects.
func HandleLeased[T any](c *Consumer, topic string, f LeasedFunc[T], options ...Option) {
	work := func(ctx context.Context, in task.Input) (headrace.Effects, error) {
		return f(ctx, messageOf[T](&in))
	}
	run := func(ctx context.Context, tx *headrace.Tx, inputs []task.Input) error {
		return inputs[0].Effects(ctx, tx)
	}
	slow := func(r *registration) {
		r.Leased, r.Timeout = &task.Leased{Work: work, Term: defaultLease}, defaultWork
	}
	register[T](c, topic, f == nil, false, run, append([]Option{slow}, options...))
}

// Intake takes messages off the broker at once. One commit puts many of them into the
// backlog; then they are acknowledged, and handled from there. It is for handlers that
// are slower than the broker's acknowledgement timeout, for bursts, and for brokers that
// keep little. The order of an order key is kept until one of its messages fails; in
// strict mode also then.
func Intake() Option {
	return func(r *registration) {
		r.once("Intake")
		if r.Leased != nil {
			r.mistake("Intake: a handler of HandleLeased takes its messages in anyway")
		}
		r.Intake = true
	}
}

// Lease sets how long the lease of a leased handler lasts if it is not extended: how long
// it takes until another process continues the work of one that was killed or cut off. It
// is extended after each third of that time. Default 30 s; at least 100 ms.
func Lease(term time.Duration) Option {
	return func(r *registration) {
		r.once("Lease")
		switch {
		case r.Leased == nil:
			r.mistake("Lease is for handlers of HandleLeased")
		case term < leastLease:
			r.mistake("Lease(%s) is below %s", term, leastLease)
		default:
			r.Leased.Term = term
		}
	}
}

// Steps declares the steps of a leased handler, in their order: see package ledger. Only
// these can be done, and Run refuses two that share a name. A message for which another
// step is recorded waits 15 minutes for a process that declares it, and then becomes a
// dead letter of class parked; ledger.Gone names a step that is gone.
//
// A stop waits Config.DrainTimeout for calls under way. A call of a step with Park or Skip
// that is cut off would need a person or be lost, so Run refuses one whose Timeout is not
// two seconds below DrainTimeout, and any step whose Timeout is above the handler's own. One that comes before a step with Retry or Probe is logged:
// put it last.
func Steps(declared ...ledger.Declared) Option {
	return func(r *registration) {
		r.once("Steps")
		if r.Leased == nil {
			r.mistake("Steps is for handlers of HandleLeased: a step commits while the work runs, and Handle works in a transaction")
			return
		}
		declares, err := plan.New(declared...)
		if err != nil {
			r.mistake("Steps: %w", err)
		}
		r.Leased.Plan = declares
	}
}

// Concurrency overrides Config.Concurrency: how many batches of this handler run at once,
// or how many messages a leased one works on.
func Concurrency(n int) Option {
	return func(r *registration) {
		r.once("Concurrency")
		if n < 1 || n > mostConcurrent {
			r.mistake("Concurrency(%d) is not between 1 and %d", n, mostConcurrent)
		}
		r.Concurrency = n
	}
}
