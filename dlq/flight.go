package dlq

import (
	"context"
	"fmt"
)

// flight is a batch under way in a goroutine of its own.
type flight struct {
	limit  int
	before *flight // the batch before it, which may be under way too; nil if there is none
	read   chan []int64
	told   bool // of the goroutine

	ended chan struct{} // closed when b and err are there
	b     batch
	err   error
}

// start takes and applies a batch. Whoever calls it calls land.
func (s *sweep) start(ctx context.Context, f Filter, after int64, limit int, before *flight) *flight {
	fl := &flight{limit: limit, before: before, read: make(chan []int64, 1), ended: make(chan struct{})}
	go func() {
		defer close(fl.ended)
		fl.b, fl.err = s.batch(ctx, f, after, fl)
		fl.before = nil // or all of them would be kept
	}()
	return fl
}

// tell says which letters the batch has taken, once.
func (fl *flight) tell(ids []int64) {
	if !fl.told {
		fl.told = true
		fl.read <- ids
	}
}

// letters waits for what tell says; nil where the batch ended before.
func (fl *flight) letters() []int64 {
	select {
	case ids := <-fl.read:
		return ids
	case <-fl.ended:
	}
	select {
	case ids := <-fl.read:
		return ids
	default:
		return nil
	}
}

// turn waits for the batch before, where letters of this one may have to go behind
// letters of that one.
func (fl *flight) turn(letters []Letter) error {
	if fl.before == nil {
		return nil
	}
	for _, l := range letters {
		if _, strict := orderKey(l); !strict {
			continue
		}
		<-fl.before.ended
		if err := fl.before.err; err != nil {
			return fmt.Errorf("the batch before: %w", err)
		}
		return nil
	}
	return nil
}

// land waits for a batch, and counts it. nil is none.
func (s *sweep) land(fl *flight) error {
	if fl == nil {
		return nil
	}
	<-fl.ended
	s.unknown += fl.b.unknown
	if fl.err != nil {
		return fl.err
	}
	s.finish(fl.b)
	return nil
}
