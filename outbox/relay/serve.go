package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/outbox"
)

// ErrWaiting matches the error that OnStalled is called with while relays of the same
// outbox publish to another sink: this one waits until those have ended.
var ErrWaiting = errors.New("relay: the outbox is published to another sink")

const (
	// serveBeat is the time between two beats, serveLook that between two tries while the
	// relay may not publish. serveTime bounds the statements of one, and serveEnd those of
	// the end.
	serveBeat = 3 * time.Second
	serveLook = time.Second
	serveTime = 5 * time.Second
	serveEnd  = 2 * time.Second
)

// serving records whether the relay may publish: no live relay of the outbox has another
// sink.
type serving struct {
	self outbox.Relay

	mu    sync.Mutex
	until time.Time // it may, if that is known to hold until then
	fails bool      // the latest beat failed
}

func newServing(st Store, sink any) *serving {
	host, _ := attempt.Origin()
	s := &serving{self: outbox.Relay{ID: uuid.NewString(), Outbox: st.Outbox().Name(), Host: host}}
	if sink != nil {
		s.self.Sink = outbox.SinkID(sink)
	}
	return s
}

// may reports whether the relay may publish now. A process that was frozen may not, before
// it has beaten again.
func (s *serving) may() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.until)
}

// end records that the relay may not publish any more.
func (s *serving) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
}

// failing reports whether the latest beat failed.
func (s *serving) failing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fails
}

// set records the end of a beat that began at that time, and reports whether the relay may
// publish from now on and could not before, and whether err is the first of several.
func (s *serving) set(began time.Time, other string, err error) (begins, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first = err != nil && !s.fails; err == nil {
		begins = other == "" && !time.Now().Before(s.until)
		s.until = time.Time{}
		if other == "" {
			s.until = began.Add(instance.Missed)
		}
	}
	s.fails = err != nil
	return begins, first
}

// serve beats until ctx ends, and then records that the relay has ended.
func (r *Relay) serve(ctx context.Context) {
	for pause := serveLook; ; pause = serveLook {
		r.beat(ctx)
		if r.serving.may() {
			pause = serveBeat
		}
		if !sleep.For(ctx, pause) {
			break
		}
	}
	r.serving.end()
	most := serveEnd
	if r.serving.failing() {
		most /= 4
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	if err := r.store.Operations().Relays.End(bounded, r.serving.self.ID); err != nil {
		r.o.Logger.Warn("relay: its end could not be recorded: a relay with another sink waits for a while", "error", encode.Said(err))
	}
}

func (r *Relay) beat(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, serveTime)
	defer cancel()
	began, self := time.Now(), r.serving.self
	other, err := r.store.Operations().Relays.Serve(bounded, self, instance.Missed)
	if ctx.Err() != nil {
		return
	}
	begins, first := r.serving.set(began, other, err)
	switch {
	case first:
		r.o.Logger.Error("relay: cannot record that it runs, and publishes nothing until it can; trying again", "error", encode.Said(err))
	case err == nil && other != "":
		r.stall.wait(fmt.Errorf("%w: outbox %q: its live relays have the sink %s, and this one has %s", ErrWaiting, self.Outbox, other, self.Sink))
	case begins:
		r.stall.wait(nil)
		r.woken.Wake()
	}
}
