package consumer

import (
	"context"

	"github.com/headrace/headrace/instance"
)

// Pause stops every process of the consumer from taking messages, also those that start
// later, until Resume. Code without a Consumer uses instance.Pauses. by and reason are
// shown to people who find the consumer paused. If it is paused already, the existing
// pause stays as it is. Pause returns when the mark is committed. It may be called before
// Run and from any goroutine.
//
// A paused consumer reads no source and begins no backlog row and no leased work. It
// finishes the messages that it has, and the relay goes on publishing. This process stops
// taking at once, others within about two seconds. An open subscription stays open; a
// process that starts paused subscribes on Resume. While the database does not answer,
// each process keeps its last known state.
func (c *Consumer) Pause(ctx context.Context, by, reason string) error {
	return c.rt.Pause.Pause(ctx, by, reason)
}

// Resume ends a pause, also that of another process; without a pause it does nothing. by
// names the person or program that resumes. Processes take messages again within about
// two seconds, this one at once.
func (c *Consumer) Resume(ctx context.Context, by string) error { return c.rt.Pause.Resume(ctx, by) }

// Paused returns the pause that this process knows of, and false if there is none.
// Waiting for the database in an outage is not a pause: see Ready.
func (c *Consumer) Paused() (instance.Pause, bool) { return c.rt.Pause.Get() }
