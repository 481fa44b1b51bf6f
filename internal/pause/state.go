package pause

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/instance"
)

// State is the known state of a consumer's pause. Make one with New. It is safe for
// concurrent use.
type State struct {
	// OnChange is called after a pause has begun or ended. May be nil; set it before use.
	OnChange func()

	consumer string
	store    instance.Pauses
	reading  sync.Mutex                     // one read at a time, so that no older answer replaces a newer one
	known    atomic.Pointer[instance.Pause] // nil before the first read
	period   atomic.Pointer[period]
}

// period is the time between two changes; over is closed at its end.
type period struct {
	paused bool
	over   chan struct{}
}

// New returns the state of the consumer of that name, before the first read.
func New(store instance.Pauses, consumer string) *State {
	s := &State{store: store, consumer: consumer}
	s.period.Store(&period{paused: true, over: make(chan struct{})})
	return s
}

// Pause pauses the consumer, and returns when this process knows of the pause.
func (s *State) Pause(ctx context.Context, by, reason string) error {
	if _, err := s.store.Pause(ctx, instance.Pause{Consumer: s.consumer, By: by, Reason: reason}); err != nil {
		return fmt.Errorf("consumer %s: %w", s.consumer, err)
	}
	return s.Read(ctx)
}

// Resume ends a pause, and returns when this process knows of it.
func (s *State) Resume(ctx context.Context, by string) error {
	if _, err := s.store.Resume(ctx, s.consumer, by); err != nil {
		return fmt.Errorf("consumer %s: %w", s.consumer, err)
	}
	return s.Read(ctx)
}

// Get returns the current pause, and false if there is none or none is known.
func (s *State) Get() (instance.Pause, bool) {
	known := s.known.Load()
	if known == nil || !known.Lasts() {
		return instance.Pause{}, false
	}
	return *known, true
}

// Read reads the pause.
func (s *State) Read(ctx context.Context) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	now, err := s.store.Get(ctx, s.consumer)
	if err != nil {
		return fmt.Errorf("consumer %s: %w", s.consumer, err)
	}
	before := s.known.Swap(&now)
	paused, last := now.Lasts(), s.period.Load()
	if paused != last.paused {
		s.period.Store(&period{paused: paused, over: make(chan struct{})})
		close(last.over)
	}
	if was := before != nil && before.Lasts(); paused != was && s.OnChange != nil {
		s.OnChange()
	}
	return nil
}

// Paused reports whether no work may begin.
func (s *State) Paused() bool { return s.period.Load().paused }

// Begun returns a channel that is closed while, or as soon as, no work may begin.
func (s *State) Begun() <-chan struct{} {
	if p := s.period.Load(); !p.paused {
		return p.over
	}
	return closed
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Wait blocks while no work may begin, and reports false if ctx ends first.
func (s *State) Wait(ctx context.Context) bool {
	for p := s.period.Load(); p.paused; p = s.period.Load() {
		select {
		case <-p.over:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
