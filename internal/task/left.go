package task

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// LeftBehind counts abandoned handlers: they ignored their context. The zero value has
// none; it is safe for concurrent use.
type LeftBehind struct {
	mu       sync.Mutex
	calls    int
	messages map[string]int // by handler
}

// Add counts an abandoned call; n is 1, and -1 when it has returned, which may come first.
func (l *LeftBehind) Add(call Call, n int) {
	h, messages := call.Of()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.messages == nil {
		l.messages = make(map[string]int)
	}
	l.calls += n
	l.messages[h.Name] += n * messages
}

// Count returns how many calls have not returned.
func (l *LeftBehind) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

// Of returns how many messages the abandoned calls of a handler have.
func (l *LeftBehind) Of(handler string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.messages[handler]
}

// Names names the abandoned handlers, and their number of messages; never the messages.
func (l *LeftBehind) Names() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name, messages := range l.messages {
		if messages > 0 {
			names = append(names, fmt.Sprintf("%q (messages: %d)", name, messages))
		}
	}
	if len(names) == 0 {
		return "they have just returned"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
