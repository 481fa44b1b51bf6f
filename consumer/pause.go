package consumer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/encode"
)

// Pause keeps every process of the consumer from taking messages, also those that start
// later, until it is resumed: see instance.Pauses for code without a Consumer. by says
// who paused it, reason why, for those who find it paused; a pause that lasts is left as
// it is. It returns when the mark is committed, and may be called before Run and from
// any goroutine.
//
// A paused consumer reads no source, begins no backlog row and no leased work; what it
// had taken is worked off, and the relay goes on publishing. This process stops taking
// at once, others within about two seconds. A subscription that was open stays open; one
// process that starts paused subscribes when it is resumed. While the database does not
// answer, what was last known stands.
func (c *Consumer) Pause(ctx context.Context, by, reason string) error {
	if _, err := c.st.Operations().Pauses.Pause(ctx, instance.Pause{Consumer: c.name, By: by, Reason: reason}); err != nil {
		return fmt.Errorf("consumer %s: %w", c.name, err)
	}
	return c.lookForPause(ctx)
}

// Resume ends a pause, whoever made it; without one it does nothing. by says who did.
// Processes take messages again within about two seconds, this one at once.
func (c *Consumer) Resume(ctx context.Context, by string) error {
	if _, err := c.st.Operations().Pauses.Resume(ctx, c.name, by); err != nil {
		return fmt.Errorf("consumer %s: %w", c.name, err)
	}
	return c.lookForPause(ctx)
}

// Paused returns the pause that this process heeds, and false where it heeds none. A
// pause for an outage of the database is not meant: see Ready.
func (c *Consumer) Paused() (instance.Pause, bool) {
	mark := c.hold.mark.Load()
	if mark == nil || !mark.Lasts() {
		return instance.Pause{}, false
	}
	return *mark, true
}

// lookForPause reads the mark and heeds it. One look at a time, so that none puts an
// older answer over a newer one.
func (c *Consumer) lookForPause(ctx context.Context) error {
	c.hold.look.Lock()
	defer c.hold.look.Unlock()
	mark, err := c.st.Operations().Pauses.Get(ctx, c.name)
	if err != nil {
		return fmt.Errorf("consumer %s: %w", c.name, err)
	}
	c.hold.heed(mark)
	return nil
}

// hold keeps a process from taking messages while a person has paused the consumer, and
// until it is known that nobody has. It is safe for concurrent use.
type hold struct {
	// changed is told of each pause that begins (true) or ends; may be nil.
	changed func(paused bool)

	look  sync.Mutex
	mark  atomic.Pointer[instance.Pause] // nil until it is known
	phase atomic.Pointer[phase]
}

// phase is the time between two changes; ended is closed with it.
type phase struct {
	held  bool
	ended chan struct{}
}

func newHold() *hold {
	h := &hold{}
	h.phase.Store(&phase{held: true, ended: make(chan struct{})})
	return h
}

// heed makes mark what is known. Calls must not be concurrent.
func (h *hold) heed(mark instance.Pause) {
	before := h.mark.Swap(&mark)
	held, was := mark.Lasts(), h.phase.Load()
	if held != was.held {
		h.phase.Store(&phase{held: held, ended: make(chan struct{})})
		close(was.ended)
	}
	if wasPaused := before != nil && before.Lasts(); held != wasPaused && h.changed != nil {
		h.changed(held)
	}
}

// held reports whether nothing is to be begun.
func (h *hold) held() bool { return h.phase.Load().held }

// begun returns a channel that is closed when, or if, nothing is to be begun.
func (h *hold) begun() <-chan struct{} {
	if p := h.phase.Load(); !p.held {
		return p.ended
	}
	return closed
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// wait blocks while nothing is to be begun, and reports false when ctx ends first.
func (h *hold) wait(ctx context.Context) bool {
	for p := h.phase.Load(); p.held; p = h.phase.Load() {
		select {
		case <-p.ended:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// watchPause looks for the mark until the consumer stops: one read by primary key each
// second, outside of any transaction. Where that fails, what is known stands; where it
// gets no answer, the database is away.
func (r *run) watchPause() {
	tick := time.NewTicker(r.c.pace.look)
	defer tick.Stop()
	failing := false
	var s silence
	for {
		err := s.look(r)
		if err != nil && r.soft.Err() == nil && !failing {
			r.c.config.Logger.Warn("cannot see whether the consumer is paused; what is known stands", "error", encode.Said(err))
		}
		failing = err != nil
		select {
		case <-tick.C:
		case <-r.soft.Done():
			return
		}
	}
}

// pauseChanged tells people.
func (r *run) pauseChanged(bool) {
	r.tellPause("a person resumed the consumer, and it takes messages again")
}

// tellPause tells people whether messages are taken, and resumed where they are. The
// database and a person may both pause a consumer: the end of one is not that of the
// other. One call at a time looks and tells, so that the newest alert is the true one.
// A person's reason is somebody's own words, and stays in the table.
func (r *run) tellPause(resumed string) {
	r.telling.Lock()
	defer r.telling.Unlock()
	_, held := r.c.Paused()
	switch {
	case r.c.gate.Err() != nil:
		r.alert(alerts.Paused, nil, "the database does not take our statements; messages are held, no attempt is spent")
	case held:
		r.alert(alerts.Paused, nil, "a person paused the consumer, and it takes no messages: see headrace consumer ls")
	default:
		r.alert(alerts.Resumed, nil, resumed)
	}
}

// pausable begins no rows of a line while the consumer is paused, or runs no handler. It
// goes on looking, which tells whether the database answers.
type pausable struct {
	drain.Line
	hold   *hold
	router *attachment // nil for none
}

func (p pausable) held() bool { return p.hold.held() || p.router.refused() != nil }

// Poll implements drain.Line.
func (p pausable) Poll(ctx context.Context, marks []int64) (drain.Polled, error) {
	polled, err := p.Line.Poll(ctx, marks)
	if p.held() {
		polled = drain.Polled{}
	}
	return polled, err
}

// Work implements drain.Line.
func (p pausable) Work(ctx context.Context, shard int, after int64) (drain.Result, error) {
	if p.held() {
		return drain.Result{}, nil
	}
	return p.Line.Work(ctx, shard, after)
}
