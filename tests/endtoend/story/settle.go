package story

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// patient is how long nothing may change before the program gives up waiting: a broker that was
// killed may need most of a minute to start on a busy machine.
const patient = 2 * time.Minute

// stale is how long another run may show no life before what it had in flight is taken over.
const stale = 5 * time.Second

// wait watches a session until everything that was handed out is settled.
type wait struct {
	*session
	consumerEnded bool
	last          state
	changed       time.Time
	beats         map[string]beatSeen
}

// state is all that moves while work is done.
type state struct {
	open
	handedOut, acknowledged int64
}

// beatSeen is when a run's number last grew.
type beatSeen struct {
	n  int64
	at time.Time
}

func newWait(s *session) *wait {
	return &wait{session: s, changed: time.Now(), beats: make(map[string]beatSeen)}
}

// errInterrupted says that the user wanted to stop.
var errInterrupted = errors.New("interrupted")

// nothingKept says what is left of a run that was interrupted, where its database is gone.
const nothingKept = "nothing is kept, since the database was a temporary one: -db keeps it"

// afterInterrupt says what is left of a run that was interrupted.
func (o options) afterInterrupt() string {
	if o.temporary() {
		return nothingKept
	}
	return "the same command goes on with what was in flight, and sends all webhooks again: none is applied twice"
}

// settled returns nil when nothing is in flight, in the backlog or in the outbox. Its error says why it waits no
// longer.
func (w *wait) settled(ctx context.Context, ended <-chan error) error {
	drained := w.source.drained
	interval := 10 * time.Millisecond
	var poll <-chan time.Time // looks at the tables begin when the source has nothing more
	watch := time.NewTicker(patient / 10)
	defer watch.Stop()
	for {
		select {
		case <-ctx.Done():
			return errInterrupted
		case err := <-ended:
			w.consumerEnded = true
			return errors.Join(errors.New("the consumer stopped before everything was settled"), err)
		case <-drained:
			drained = nil
			poll = time.After(0)
		case <-watch.C:
			if err := w.stuck(w.last.open); err != nil {
				return err
			}
		case <-poll:
			if done, err := w.look(ctx); done || err != nil {
				return err
			}
			interval = min(2*interval, 250*time.Millisecond)
			poll = time.After(interval)
		}
	}
}

// look looks at the tables once, and reports whether everything is settled.
func (w *wait) look(ctx context.Context) (done bool, err error) {
	o, err := w.db.open(ctx, w.journal.run)
	switch {
	case ctx.Err() != nil:
		return false, nil
	case err != nil: // an outage is waited out, as long as patient
		w.source.log.Warn("cannot see what is settled; trying again", "error", err)
		return false, w.stuck(w.last.open)
	case o == open{}:
		return true, nil
	case o.Here == 0 && o.Others > 0:
		w.adopt(ctx)
	}
	return false, w.stuck(o)
}

// stuck returns an error when nothing has changed for too long while there is something to do.
func (w *wait) stuck(o open) error {
	now := state{o, w.source.handedOut.Load(), w.source.acknowledged.Load()}
	idle := now.handedOut == now.acknowledged && o == open{}
	if now != w.last || idle {
		w.last, w.changed = now, time.Now()
		return nil
	}
	if time.Since(w.changed) < patient {
		return nil
	}
	return fmt.Errorf("nothing has changed for %s: %d of %d deliveries not acknowledged, %d in flight in other runs, "+
		"%d waiting in the backlog, %d in the outbox", patient, now.handedOut-now.acknowledged, now.handedOut, o.Others, o.Behind, o.Outbox)
}

// adopt takes over what runs have in flight that show no life.
func (w *wait) adopt(ctx context.Context) {
	beats, err := w.journal.others(ctx)
	if err != nil {
		w.source.log.Warn("cannot see what other runs have in flight; trying again", "error", err)
		return
	}
	for run, n := range beats {
		seen, known := w.beats[run]
		switch {
		case !known || seen.n != n:
			w.beats[run] = beatSeen{n, time.Now()}
		case time.Since(seen.at) > stale:
			w.source.takeOver(run)
			w.beats[run] = beatSeen{n, time.Now()}
		}
	}
}
