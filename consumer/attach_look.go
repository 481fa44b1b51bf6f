package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace"
)

// looks is for how many runs of a handler all that it asks of its context shows who
// stands around it. After that only asking for the transaction does.
const looks = 16

// trial is the context of one run.
type trial struct {
	context.Context
	cancel context.CancelFunc
	h      *attempts
	tx     *headrace.Tx
	early  bool // one of the first

	mu      sync.Mutex
	entered int           // runs of the handler
	within  int           // those that have not returned
	kept    bool          // one of them returned without an error
	failed  error         // of the first that failed after it had used the transaction
	over    bool          // the attempt has ended,
	ended   error         // with this
	asked   bool          // for the transaction
	came    chan struct{} // closed by the first run, where end waits for that
}

type trialKey struct{}

func (h *attempts) begin(ctx context.Context, tx *headrace.Tx) *trial {
	early := h.looked.Load() < looks
	if early {
		h.looked.Add(1)
	}
	ctx, cancel := context.WithCancel(ctx)
	return &trial{Context: ctx, cancel: cancel, h: h, tx: tx, early: early}
}

// runs begins the name of the function that calls what stands inside.
const runs = "github.com/headrace/headrace/consumer.(*attempts).run"

// look refuses the program where a rival is on the stack.
func (t *trial) look() {
	for _, name := range t.h.a.paths.Callers(runs) {
		if why := insider(name); why != "" {
			t.refuse(errors.New(why))
			return
		}
	}
}

// refuse has no handler run any more, and ends this run: some rivals would wait, or try
// again, in vain.
func (t *trial) refuse(why error) {
	defer t.cancel()
	t.h.a.refuse(fmt.Errorf("handler %q: %w: %w", t.h.name, headrace.ErrOrder, why))
}

// Value implements context.Context.
func (t *trial) Value(key any) any {
	if key == (trialKey{}) {
		return t
	}
	v := t.Context.Value(key)
	_, transaction := v.(*headrace.Tx)
	if transaction {
		t.ask()
	}
	if t.early || transaction {
		t.look()
	}
	return v
}

// Done implements context.Context.
func (t *trial) Done() <-chan struct{} {
	if t.early {
		t.look()
	}
	return t.Context.Done()
}

// Err implements context.Context.
func (t *trial) Err() error {
	if t.early {
		t.look()
	}
	return t.Context.Err()
}

// Deadline implements context.Context.
func (t *trial) Deadline() (time.Time, bool) {
	if t.early {
		t.look()
	}
	return t.Context.Deadline()
}
