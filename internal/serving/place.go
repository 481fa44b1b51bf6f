package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/outage"
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
	joinTries = 4
	joinPause = 200 * time.Millisecond
	endTime   = 2 * time.Second
)

// Place is a relay's place among those of its outbox. May may be called concurrently.
type Place struct {
	relays outbox.Relays
	logger *slog.Logger
	report func(error)

	begin sync.Once
	begun chan struct{} // closed when the first consumer has joined

	mu    sync.Mutex
	self  outbox.Relay
	until time.Time // it may publish, if that is known to hold until then
	fails bool      // the latest beat failed
	beats outage.Part
}

// New returns the place of a relay, whose ID and Host it sets. report is called with an error
// that matches ErrWaiting each time that the relay may not publish, with one that matches
// outbox.ErrOwned each time that other consumers own the outbox, and with nil when it may.
func New(relays outbox.Relays, self outbox.Relay, logger *slog.Logger, report func(error)) *Place {
	self.ID, self.Host = uuid.NewString(), attempt.Host()
	p := &Place{relays: relays, self: self, logger: logger, report: report, begun: make(chan struct{}), beats: outage.Part{Fails: "relay: cannot record that it runs, and publishes nothing until it can; trying again"}}
	if len(self.Consumers) > 0 {
		p.begin.Do(func() { close(p.begun) })
	}
	return p
}

// Join adds a consumer that the relay publishes for, and claims the outbox for it. The first
// one begins the beats. The error matches outbox.ErrOwned. Any other failure of the database is
// left to the beats.
func (p *Place) Join(ctx context.Context, consumer string) error {
	p.mu.Lock()
	if !slices.Contains(p.self.Consumers, consumer) {
		p.self.Consumers = append(slices.Clone(p.self.Consumers), consumer)
	}
	p.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, beatTime)
	defer cancel()
	err := p.claim(bounded)
	// Two processes with the same consumers may begin at once, each with another one of them.
	for range joinTries {
		if !errors.Is(err, outbox.ErrOwned) || !sleep.For(bounded, joinPause) {
			break
		}
		err = p.claim(bounded)
	}
	if errors.Is(err, outbox.ErrOwned) {
		return owned(err)
	}
	p.begin.Do(func() { close(p.begun) })
	return nil
}

func (p *Place) claim(ctx context.Context) error {
	p.mu.Lock()
	self := p.self
	p.mu.Unlock()
	return p.relays.Claim(ctx, self)
}

// owned adds to err, which matches outbox.ErrOwned, what a person can do.
func owned(err error) error {
	return fmt.Errorf("relay: %w. If they and this consumer publish to one broker, set Config.Relay.SinkID to one text for all of them; if not, give each service an "+
		"outbox (Options.Outbox of the store); if this is a new name of one of them: headrace subscription move OLD NEW", err)
}

// May reports whether the relay may publish now.
func (p *Place) May() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.until)
}

// Run beats from the first Join until ctx ends, and then gives the place up.
func (p *Place) Run(ctx context.Context) {
	select {
	case <-p.begun:
	case <-ctx.Done():
		return
	}
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
	p.mu.Lock()
	self := p.self
	p.mu.Unlock()
	began := time.Now()
	other, err := p.relays.Serve(bounded, self, instance.Missed)
	if ctx.Err() != nil {
		return
	}
	begins := p.learn(began, other, err)
	if !errors.Is(err, outbox.ErrOwned) {
		p.beats.Tell(ctx, p.logger, err)
	}
	switch {
	case errors.Is(err, outbox.ErrOwned):
		p.report(owned(err))
	case err == nil && other != "":
		p.report(fmt.Errorf("relay: %w: outbox %q: its live relays have the sink %s, and this one has %s", ErrWaiting, self.Outbox, other, self.Sink))
	case begins:
		p.report(nil)
	}
}

// learn records the end of a beat that began at that time, and reports whether the relay
// may publish from now on and could not before.
func (p *Place) learn(began time.Time, other string, err error) (begins bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		begins = other == "" && !time.Now().Before(p.until)
		p.until = time.Time{}
		if other == "" {
			p.until = began.Add(instance.Missed)
		}
	}
	p.fails = err != nil
	return begins
}
