package consumer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/group"
)

// stuck counts a handler that ignores its context and is waited for no longer.
func (r *run) stuck(h *group.Handler, messages int) {
	r.c.mu.Lock()
	r.c.stuck++
	r.keep(h, messages)
	r.c.mu.Unlock()
	r.alert(alerts.HandlerStuck, h, fmt.Sprintf("a handler did not return %s after its context had ended and was left behind: it ignores the context, or a statement of its transaction gets no answer", grace))
}

// returned takes back what stuck counted.
func (r *run) returned(h *group.Handler, messages int) {
	r.c.mu.Lock()
	r.c.stuck--
	r.keep(h, -messages) // which may come before stuck
	r.c.mu.Unlock()
}

// keep adds to the messages that the handler h was left behind with. The caller holds
// the consumer's lock.
func (r *run) keep(h *group.Handler, messages int) {
	if r.left == nil {
		r.left = make(map[string]int)
	}
	r.left[h.Name] += messages
}

// awaitHandlers waits for what runs user functions. The error names the handlers that
// were left behind, and with how many messages; never with which.
func (r *run) awaitHandlers() error {
	if within(&r.handlers, grace) {
		return nil
	}
	r.c.mu.Lock()
	var names []string
	for name, messages := range r.left {
		if messages > 0 {
			names = append(names, fmt.Sprintf("%q (messages: %d)", name, messages))
		}
	}
	r.c.mu.Unlock()
	slices.Sort(names)
	which := strings.Join(names, ", ")
	if which == "" {
		which = "they came back only now"
	}
	return fmt.Errorf("handlers left behind: %s: %w (%s)", which, ErrDrainTimeout, r.c.config.DrainTimeout)
}
