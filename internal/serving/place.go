package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/outbox"
)

// ErrWaiting matches the error that says which other sink is served.
var ErrWaiting = errors.New("the outbox is published to another sink")

const (
	// beatEvery is the time between two beats, lookEvery that between two tries while the
	// relay may not publish. beatTime bounds the statements of one, and endTime those of
	// the end.
	beatEvery = 3 * time.Second
	lookEvery = time.Second
	beatTime  = 5 * time.Second
	endTime   = 2 * time.Second
)

// Place is a relay's place among those of its outbox. May may be called concurrently.
type Place struct {
	relays outbox.Relays
	self   outbox.Relay
	logger *slog.Logger
	report func(error)

	mu    sync.Mutex
	until time.Time // it may publish, if that is known to hold until then
	fails bool      // the latest beat failed
}

// New returns the place of a relay that publishes the outbox called name to sink. report is
// called with an error that matches ErrWaiting each time that the relay may not publish,
// and with nil when it may.
func New(relays outbox.Relays, name string, sink any, logger *slog.Logger, report func(error)) *Place {
	self := outbox.Relay{ID: uuid.NewString(), Outbox: name, Sink: outbox.SinkID(sink), Host: attempt.Host()}
	return &Place{relays: relays, self: self, logger: logger, report: report}
}

// May reports whether the relay may publish now.
func (p *Place) May() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.until)
}

// Run beats until ctx ends, and then gives the place up.
func (p *Place) Run(ctx context.Context) {
	for pause := lookEvery; ; pause = lookEvery {
		p.beat(ctx)
		if p.May() {
			pause = beatEvery
		}
		if !sleep.For(ctx, pause) {
			break
		}
	}
	p.mu.Lock()
	most := endTime
	if p.until = (time.Time{}); p.fails {
		most /= 4
	}
	p.mu.Unlock()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	if err := p.relays.End(bounded, p.self.ID); err != nil {
		p.logger.Warn("relay: its end could not be recorded: a relay with another sink waits for a while", "error", encode.Said(err))
	}
}

func (p *Place) beat(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, beatTime)
	defer cancel()
	began := time.Now()
	other, err := p.relays.Serve(bounded, p.self, instance.Missed)
	if ctx.Err() != nil {
		return
	}
	begins, first := p.learn(began, other, err)
	switch {
	case first:
		p.logger.Error("relay: cannot record that it runs, and publishes nothing until it can; trying again", "error", encode.Said(err))
	case err == nil && other != "":
		p.report(fmt.Errorf("relay: %w: outbox %q: its live relays have the sink %s, and this one has %s", ErrWaiting, p.self.Outbox, other, p.self.Sink))
	case begins:
		p.report(nil)
	}
}

// learn records the end of a beat that began at that time, and reports whether the relay
// may publish from now on and could not before, and whether err is the first of several.
func (p *Place) learn(began time.Time, other string, err error) (begins, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if first = err != nil && !p.fails; err == nil {
		begins = other == "" && !time.Now().Before(p.until)
		p.until = time.Time{}
		if other == "" {
			p.until = began.Add(instance.Missed)
		}
	}
	p.fails = err != nil
	return begins, first
}
