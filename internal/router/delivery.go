package router

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// delivery is a message that a Router has, as a copy: what a middleware outside does to
// the copy does not reach the broker. The outcome of the copy is compared with that of
// the message.
type delivery struct {
	a        *Attachment
	source   message.Subscriber
	original *message.Message
	copy     *message.Message // the one the Router has
	place    atomic.Int32
	came     chan struct{}   // closed when it reaches its handler
	settled  context.Context // ends when the engine has decided the outcome
	settle   func()          // ends it
}

// The states of a delivery.
const (
	outside int32 = iota // with the middlewares outside
	arrived              // it reached its handler
	skipped              // acknowledged before that
)

type deliveryKey struct{}

func newDelivery(s *routed, m *message.Message) *delivery {
	d := &delivery{a: s.a, source: s.source, original: m, copy: m.Copy(), came: make(chan struct{})}
	d.settled, d.settle = context.WithCancel(context.Background())
	d.copy.SetContext(context.WithValue(m.Context(), deliveryKey{}, d))
	return d
}

// errStrange is the error of a message that a middleware outside made.
var errStrange = fmt.Errorf("%w: a middleware outside of consumer.Attach passes on a message of its own: it must have the context of the original one", headrace.ErrOrder)

// id is the message's id for its handler.
func (d *delivery) id() string {
	return message.HandlerNameFromCtx(d.copy.Context()) + "/" + d.original.UUID
}

// wrong is the error for a mistake of a middleware outside.
func (d *delivery) wrong(text string) error {
	return fmt.Errorf("handler %q: %w: a middleware outside of consumer.Attach %s: remove it", message.HandlerNameFromCtx(d.copy.Context()), headrace.ErrOrder, text)
}

const early = "acknowledges messages before their handler has run"

// arrive records that the message reached its handler, and reports whether it may be
// handled. It may not if it was given back already, or if a middleware outside has
// acknowledged it, which stops all messages.
func (d *delivery) arrive() bool {
	if d.place.CompareAndSwap(outside, arrived) {
		close(d.came)
	}
	switch {
	case done(d.original.Nacked()): // Watermill's Retry calls again
		return false
	case d.place.Load() == skipped: // the broker has dropped it: handle it now
		d.a.disorder(d.wrong(early))
		return true
	case done(d.copy.Acked()) && d.settled.Err() == nil:
		d.a.disorder(d.wrong(early))
		return false
	}
	return true
}

// giveBack gives the message back after a pause, or at once if the consumer stops. It
// does not rely on an error, which a middleware outside may hide.
func (d *delivery) giveBack() {
	if !done(d.original.Nacked()) {
		d.a.released.add(d.id())
		d.a.pause()
		d.original.Nack()
	}
	d.settle()
}

// follow settles the original as the Router settles the copy, but acknowledges it only
// after the engine has settled it. It returns when both are settled.
func (d *delivery) follow() {
	select {
	case <-d.copy.Nacked():
		if !done(d.original.Nacked()) {
			d.a.pause() // a middleware's own error
			d.original.Nack()
		}
		return
	case <-d.copy.Acked():
	}
	if !d.skip() {
		<-d.settled.Done()
		if done(d.original.Nacked()) && d.a.running().Stopping.Err() == nil {
			d.a.disorder(d.wrong("ignores the error of a message that is given back, as PoisonQueue and IgnoreErrors do"))
		}
		d.original.Ack() // does nothing if it was given back
		return
	}
	if d.a.released.has(d.id()) {
		d.a.disorder(d.wrong("skips a message that was given back before, as Deduplicator does"))
	}
	if d.a.disordered.Load() { // a copy of it may have reached its handler
		d.original.Nack()
		return
	}
	d.original.Ack()
}

// skip reports whether the acknowledgement of a middleware outside counts: it skipped the
// message, as a filter does. It is unknown whether it will still pass the message on. So
// that the first messages are not lost behind a middleware that acknowledges early, skip
// gives them a moment to reach their handler; it cannot detect a middleware that
// acknowledges only some early.
func (d *delivery) skip() bool {
	if !d.a.sound.Load() {
		await(d.came, d.a.rt.NackPause)
	}
	return d.place.CompareAndSwap(outside, skipped)
}

// await waits until c is closed, for at most d.
func await(c <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
	case <-timer.C:
	}
}

// done reports whether c is closed.
func done(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
