package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errSilent is why the gate closes where the database neither refuses nor answers.
var errSilent = errors.New("the database does not answer")

const (
	// silentPing is what a ping has after a look without an answer.
	silentPing = 2 * time.Second
	// silentTime bounds both where the driver does not heed a context, as lib/pq does not.
	silentTime = grace + silentPing + time.Second
)

// silence finds out that the database hangs, which other statements find out only when
// their own time is over, or never.
type silence struct {
	closed bool // the gate, by us
}

// look looks for a pause. Where it gets no answer, a ping gets none, and nobody else got
// one meanwhile, the gate closes, until the next look that is answered. It returns when
// there is an answer or the driver gives up, and when the consumer stops.
func (s *silence) look(r *run) error {
	start, seconds := time.Now(), time.NewTicker(time.Second)
	defer seconds.Stop()
	answer := make(chan error, 1)
	r.workers.Go(func() { answer <- r.ask() })
	// A process that was stopped itself misses ticks, and blames nobody.
	for n := time.Duration(1); ; n++ {
		select {
		case err := <-answer:
			if errors.Is(err, errSilent) {
				s.close(r, start, err)
			}
			if err == nil && s.closed {
				s.closed = false
				r.c.gate.OK()
			}
			return err
		case <-seconds.C:
			if n*time.Second == silentTime {
				s.close(r, start, errSilent)
			}
		case <-r.soft.Done():
			return nil
		}
	}
}

func (s *silence) close(r *run, start time.Time, err error) {
	if r.soft.Err() == nil && !r.c.gate.OKSince(start) {
		s.closed = true
		r.c.gate.Fail(err)
	}
}

// ask looks for a pause, and asks for a word of any kind where that takes too long.
func (r *run) ask() error {
	ctx, cancel := context.WithTimeout(r.soft, grace)
	defer cancel()
	err := r.c.lookForPause(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	ping, cancel := context.WithTimeout(r.soft, silentPing)
	defer cancel()
	if down := r.c.st.Ping(ping); down != nil && ping.Err() != nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return err
}
