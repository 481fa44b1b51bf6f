package dlq

import (
	"context"
	"fmt"
	"slices"
)

// maxFlights is how many batches are under way at a time: one is taken, and the others
// are applied and committed.
const maxFlights = 3

// flight is a batch under way in a goroutine of its own.
type flight struct {
	limit int
	read  chan []int64

	// earlier are the batches that were under way when this one began, and told says that
	// the letters were told. Both belong to the goroutine.
	earlier []*flight
	told    bool

	ended chan struct{} // closed when b and err are there
	b     batch
	err   error
}

// start takes and applies a batch. Whoever calls it calls land.
func (s *sweep) start(ctx context.Context, f Filter, after int64, limit int, earlier []*flight) *flight {
	fl := &flight{limit: limit, earlier: slices.Clone(earlier), read: make(chan []int64, 1), ended: make(chan struct{})}
	go func() {
		defer close(fl.ended)
		fl.b, fl.err = s.batch(ctx, f, after, fl)
		fl.earlier = nil // or all of them would be kept
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

// turn waits for the earlier batches, where letters of this one may have to go behind
// letters of those.
func (fl *flight) turn(letters []Letter) error {
	if !slices.ContainsFunc(letters, func(l Letter) bool {
		_, strict := orderKey(l)
		return strict
	}) {
		return nil
	}
	for _, earlier := range fl.earlier {
		<-earlier.ended
		if earlier.err != nil {
			return fmt.Errorf("an earlier batch: %w", earlier.err)
		}
	}
	return nil
}

// land waits for the first of air, until so many are left, and counts them. After an
// error it waits for all: what they did is counted, and their errors are the same or
// less telling.
func (s *sweep) land(air []*flight, left int) (_ []*flight, err error) {
	for len(air) > left {
		fl := air[0]
		<-fl.ended
		s.unknown += fl.b.unknown
		if fl.err == nil {
			s.finish(fl.b)
		} else if err == nil {
			err, left = fl.err, 0
		}
		air = air[1:]
	}
	return air, err
}
