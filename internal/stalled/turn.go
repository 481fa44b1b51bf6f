package stalled

import (
	"sync"

	"github.com/headrace/headrace/outbox"
)

// turn lets one Watch of a store look at a time.
type turn struct {
	// told has what was told, by consumer, and is empty while a Watch has the turn.
	told    chan map[string]string
	watches int
}

// turns are those of the stores of this process, by their signals.
var turns = struct {
	mu   sync.Mutex
	open map[*outbox.Signal]*turn
}{open: make(map[*outbox.Signal]*turn)}

// join returns the turn of a store. leave is called once.
func join(store *outbox.Signal) (t *turn, leave func()) {
	turns.mu.Lock()
	defer turns.mu.Unlock()
	t = turns.open[store]
	if t == nil {
		t = &turn{told: make(chan map[string]string, 1)}
		t.told <- make(map[string]string)
		turns.open[store] = t
	}
	t.watches++
	return t, func() {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		if t.watches--; t.watches == 0 {
			delete(turns.open, store)
		}
	}
}
