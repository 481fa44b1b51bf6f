package flow

import (
	"context"
	"sync"
	"time"
)

// fresh is how long an answer of the broker counts: see consumer.HealthReporter.
const fresh = 2 * time.Second

// Health is what a source knows of the broker of one subscription. The zero value knows
// nothing yet. Its methods may be called concurrently.
type Health struct {
	mu       sync.Mutex
	wrong    error
	answered time.Time
}

// Is records an answer of the broker that serves the subscription (nil), or why it does
// not; that stands until the next Is(nil).
func (h *Health) Is(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wrong = err; err == nil {
		h.answered = time.Now()
	}
}

// Err returns what is wrong. If nothing is, and the last answer is older than 2 seconds,
// it calls ask, which sends the broker a question, and returns its error.
func (h *Health) Err(ctx context.Context, ask func(context.Context) error) error {
	h.mu.Lock()
	wrong, answered := h.wrong, h.answered
	h.mu.Unlock()
	if wrong != nil || time.Since(answered) < fresh {
		return wrong
	}
	if err := ask(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered = time.Now()
	return nil
}
