package consumer

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/group"
)

// LeasedFunc does slow work for one message: calls to other systems, a large file, a
// language model. No transaction and no connection is held meanwhile. What it returns is
// run and committed at the end, together with the record that the message was handled;
// nil commits the record alone.
//
// The work is done at least once; the Effects are applied once. An error spends an
// attempt (see package retry for the exceptions). ctx ends with the deadline (Timeout),
// and at once where the lease is lost: somebody else may have the message then, and what
// is returned is dropped.
type LeasedFunc[T any] func(ctx context.Context, m *headrace.Message[T]) (headrace.Effects, error)

// Defaults of leased handlers.
const (
	defaultLease   = 30 * time.Second
	defaultWork    = 10 * time.Minute
	leastLease     = 100 * time.Millisecond
	mostConcurrent = 1000
)

// HandleLeased registers f for the messages of topic. What is wrong with a registration
// comes out of Run.
//
// Messages are taken off the broker at once, as with Intake, so f may take longer than
// the broker waits for an acknowledgement. They are worked on by as many processes as
// run the consumer, Concurrency at a time in each, under leases that are extended while
// f works. Messages of one order key are worked on one after the other, each after the
// one before has been applied or given up.
//
// A lease that ends because its process was killed, froze or lost the database for its
// whole term counts as an attempt, of class retry.Lost. Such attempts give a message up
// only when there are three of them: a deploy that kills its processes accuses nobody.
// What was begun when the consumer stops has Config.DrainTimeout; then its context ends,
// and its lease is given back at no attempt's cost.
//
// Timeout bounds the work, by default 10 minutes; Config.HandlerTimeout bounds its
// Effects.
func HandleLeased[T any](c *Consumer, topic string, f LeasedFunc[T], options ...Option) {
	work := func(ctx context.Context, in group.Input) (headrace.Effects, error) {
		return f(ctx, messageOf[T](&in))
	}
	run := func(ctx context.Context, tx *headrace.Tx, inputs []group.Input) error {
		return inputs[0].Effects(ctx, tx)
	}
	slow := func(r *registration) { r.work, r.timeout = work, defaultWork }
	register[T](c, topic, f == nil, false, run, append([]Option{slow}, options...))
}

// Intake takes messages off the broker at once: they are put into the backlog and
// acknowledged by one commit for many, and handled from there. It is for handlers that
// are slower than the broker is patient, for bursts, and for brokers that keep little.
// The order of an order key is kept until one of its messages fails; in strict mode
// also then.
func Intake() Option {
	return func(r *registration) { r.intake = true }
}

// Lease overrides how long the lease of a leased handler lasts without being extended:
// how long it takes until the work of a process that was killed or cut off is taken up
// by another. It is extended at each third of it. Default 30 s; at least 100 ms.
func Lease(term time.Duration) Option {
	return func(r *registration) {
		if term < leastLease {
			r.mistakes = append(r.mistakes, fmt.Errorf("Lease(%s) is below %s", term, leastLease))
		}
		r.lease = term
	}
}

// Concurrency overrides Config.Concurrency: how many groups of this handler run at once,
// or how many messages a leased one works on.
func Concurrency(n int) Option {
	return func(r *registration) {
		if n < 1 || n > mostConcurrent {
			r.mistakes = append(r.mistakes, fmt.Errorf("Concurrency(%d) is not between 1 and %d", n, mostConcurrent))
		}
		r.concurrency = n
	}
}

// leased makes h a leased handler where r is one.
func (r *registration) leased(c *Consumer, h *group.Handler) {
	if r.work == nil {
		if r.lease != 0 {
			r.mistakes = append(r.mistakes, fmt.Errorf("Lease is for handlers of HandleLeased"))
		}
		return
	}
	h.Leased = &group.Leased{
		Slots: cmp.Or(max(r.concurrency, 0), c.config.Concurrency), Term: max(cmp.Or(r.lease, defaultLease), leastLease),
		Timeout: r.timeout, Work: r.work,
	}
	h.Intake, h.Strict, h.Alone, h.Timeout = true, true, true, c.config.HandlerTimeout
}
