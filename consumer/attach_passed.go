package consumer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// passed is a message that a Router has, as a copy: what a middleware does to the copy,
// or acknowledges before its time, does not reach the broker.
type passed struct {
	original *message.Message
	copy     *message.Message // what the Router has
	state    atomic.Int32
	settled  chan struct{} // closed when the engine has said what became of it
	once     sync.Once
	entered  chan struct{} // closed when it comes to its handler
}

// The states of a passed message.
const (
	under   int32 = iota // the middlewares outside have it
	inner                // it came to its handler
	skipped              // acknowledged without that
)

type passedKey struct{}

// pass returns m with the copy for the Router.
func pass(m *message.Message) *passed {
	p := &passed{original: m, copy: m.Copy(), settled: make(chan struct{}), entered: make(chan struct{})}
	p.copy.SetContext(context.WithValue(m.Context(), passedKey{}, p))
	return p
}

// passedOf returns what m stands for; nil where a middleware outside made m.
func passedOf(m *message.Message) *passed {
	p, _ := m.Context().Value(passedKey{}).(*passed)
	return p
}

// arrive says that the message came to its handler.
func (p *passed) arrive() {
	if p.state.CompareAndSwap(under, inner) {
		close(p.entered)
	}
}

// open reports whether the message may be handled. It may not where it was given back
// already, or where a middleware outside has acknowledged it, which holds all messages.
func (p *passed) open(a *attachment) bool {
	switch {
	case done(p.original.Nacked()): // Watermill's Retry calls again
		return false
	case p.state.Load() == skipped: // the broker has forgotten it: it is now or never
		a.disorder(errEarly(p.copy))
		return true
	case done(p.copy.Acked()) && !done(p.settled):
		a.disorder(errEarly(p.copy))
		return false
	}
	return true
}

func errEarly(m *message.Message) error {
	return fmt.Errorf("handler %q: %w: a middleware outside of consumer.Attach acknowledges messages before their handler has run: remove it",
		message.HandlerNameFromCtx(m.Context()), headrace.ErrOrder)
}

// settle says that it is known what becomes of the message.
func (p *passed) settle() { p.once.Do(func() { close(p.settled) }) }

// follow does to the original what the Router does to the copy, and acknowledges it only
// after the engine has settled it. It returns when the original is acknowledged or given back.
func (p *passed) follow(a *attachment) {
	select {
	case <-p.original.Nacked():
		return
	case <-p.copy.Nacked():
		p.original.Nack()
		return
	case <-p.copy.Acked():
	}
	switch {
	case !p.skip(a):
		<-p.settled // giveBack gives it back before
	case a.disordered.Load(): // a copy of it may have come to its handler
		p.original.Nack()
		return
	}
	p.original.Ack()
}

// skip reports whether the acknowledgement of a middleware outside stands: it passed the
// message over, as a filter does. Whether it will yet be handed on is not known. So that
// the first messages are not lost behind a middleware that acknowledges early, they have
// a moment to come to their handler; where it acknowledges only some early, they have not.
func (p *passed) skip(a *attachment) bool {
	if !a.sound.Load() {
		timer := time.NewTimer(a.c.config.NackPause)
		defer timer.Stop()
		select {
		case <-p.entered:
		case <-timer.C:
		}
	}
	return p.state.CompareAndSwap(under, skipped)
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
