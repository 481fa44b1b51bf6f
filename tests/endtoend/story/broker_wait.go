package story

import (
	"context"
	"fmt"
	"time"
)

// leftState is all that moves while work is done over a broker.
type leftState struct {
	open
	Sent, Webhooks, Confirmed int64
}

// settled returns nil when everything was sent, consumed, published and confirmed. Its
// error says why it waits no longer.
func (r *over) settled(ctx context.Context, ended <-chan error) error {
	var last leftState
	changed := time.Now()
	drained := r.source.drained
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return errInterrupted
		case err := <-ended:
			if ctx.Err() != nil {
				return &endedEarly{errInterrupted}
			}
			return &endedEarly{err}
		case <-drained:
			drained = nil
			continue
		case <-tick.C:
		}
		now, err := r.left(ctx, drained == nil)
		switch {
		case err != nil:
			r.log.Warn("cannot see what is settled; trying again", "error", err)
		case drained == nil && now == leftState{Sent: now.Sent}:
			return nil
		case now != last:
			last, changed = now, time.Now()
		}
		if time.Since(changed) > patient {
			return fmt.Errorf("nothing has changed for %s: %d webhooks sent, %d of them not consumed, %d waiting in the backlog, %d in the outbox, %d confirmations not read",
				patient, last.Sent, last.Webhooks, last.Behind, last.Outbox, last.Confirmed)
		}
	}
}

// left counts what is not settled, in the order of its way: what has gone from one place
// is in the next, or has been counted there. Before all is sent it only looks how far
// that is.
func (r *over) left(ctx context.Context, all bool) (now leftState, err error) {
	now.Sent = r.source.acknowledged.Load()
	if !all {
		return now, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	n, err := r.conn.Left(ctx, r.topics.Orders, workersGroup)
	if err != nil {
		return now, err
	}
	now.Webhooks = int64(n)
	if now.open, err = r.db.open(ctx, r.journal.run); err != nil {
		return now, err
	}
	n, err = r.conn.Left(ctx, r.topics.Confirmations, clerkGroup)
	now.Confirmed = int64(n)
	return now, err
}
