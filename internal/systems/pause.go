package systems

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

const (
	// readEvery is how long a process goes by what it knows of pauses.
	readEvery = time.Second
	// readTime bounds the read, and the write of a pause.
	readTime = 5 * time.Second
	// longestLimited bounds the pause after an answer 429: one tenant's limit, or a wrong
	// Retry-After, must not stop everything.
	longestLimited = time.Minute
	// lookAgain is how long a message is put off at most before it looks whether the system
	// was resumed.
	lookAgain = time.Minute
	// longestSpread bounds the jitter, so that not all messages come back at once.
	longestSpread = 10 * time.Second
)

// pauses is what a process knows of the pauses of systems.
type pauses struct {
	store ledger.Systems // nil for none

	reading sync.Mutex // one read at a time
	read    time.Time

	mu    sync.Mutex
	known map[string]paused
}

// paused is a known pause, by the clock of this process.
type paused struct {
	until      time.Time
	by, reason string
}

// PausedError says that a system is paused.
type PausedError struct {
	// System is its name, By and Reason are those of the pause.
	System, By, Reason string
	// Left is how long the pause lasts.
	Left time.Duration
}

// Error names the system, by whom it was paused, and why.
func (e *PausedError) Error() string {
	who := ""
	if e.By != "" {
		who = " by " + e.By
	}
	return fmt.Sprintf("%s is paused%s (%s)", e.System, who, e.Reason)
}

// Delay is how long the message of this key waits: with jitter, so that the messages do not
// all come back at once, and not too long to learn of a resume.
func (e *PausedError) Delay(key string) time.Duration { return Spread(min(e.Left, lookAgain), key) }

// Spread is wait and a jitter by the key of a message.
func Spread(wait time.Duration, key string) time.Duration {
	spread := min(max(wait/2, readEvery), longestSpread)
	return wait + retry.Backoff{Initial: spread, Max: spread, Factor: 1, Jitter: 1}.Delay(1, key)
}

// Paused returns a PausedError if the system is paused, and otherwise nil. It reads the
// pauses if what is known is a second old; while the database does not answer, that counts.
func (s *Systems) Paused(ctx context.Context, system string) error {
	if s == nil || s.pauses.store == nil {
		return nil
	}
	p := &s.pauses
	p.refresh(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.known[system]
	if left := time.Until(one.until); left > 0 {
		return &PausedError{System: system, By: one.by, Reason: one.reason, Left: left}
	}
	return nil
}

func (p *pauses) refresh(ctx context.Context) {
	p.reading.Lock()
	defer p.reading.Unlock()
	if time.Since(p.read) < readEvery || ctx.Err() != nil {
		return
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
	defer cancel()
	p.read = time.Now()
	list, err := p.store.List(own)
	if err != nil {
		return // the mark that follows says that the database is away
	}
	known := make(map[string]paused)
	for _, one := range list {
		if one.Left > 0 {
			known[one.System] = paused{time.Now().Add(one.Left), one.By, one.Reason}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = known
}

// Limited pauses the system in all processes, because it has answered 429: for wait, at
// most a minute. The error says that the database did not take it.
func (s *Systems) Limited(ctx context.Context, system string, wait time.Duration) error {
	if s == nil || s.pauses.store == nil {
		return nil
	}
	p, wait := &s.pauses, min(wait, longestLimited)
	end := time.Now().Add(wait)
	p.mu.Lock()
	covered := p.known[system].until.Add(readEvery).After(end)
	p.mu.Unlock()
	if covered { // others have told so already
		return nil
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
	defer cancel()
	const reason = "it answered 429"
	if _, err := p.store.Pause(own, ledger.SystemPause{System: system, Left: wait, Reason: reason}); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = make(map[string]paused)
	}
	if p.known[system].until.Before(end) {
		p.known[system] = paused{end, "", reason}
	}
	return nil
}
