package instance

import (
	"context"
	"errors"
	"time"
)

// ErrUnknown matches the error of a beat for an instance without a row: the row was
// removed, and the instance must start again.
var ErrUnknown = errors.New("no such instance")

// Store keeps the rows of instances. Drivers implement it. Each method is one
// transaction, and waits for the database until ctx ends.
type Store interface {
	// Start writes the row of i, or records that it runs if the row exists.
	Start(ctx context.Context, i Instance) error
	// Beat records that the instance runs, also if it was counted as dead, and what it did lately.
	Beat(ctx context.Context, id string, w Work) error
	// End records that it ended normally, and removes its marks.
	End(ctx context.Context, id string) error
	// List returns the instances of consumer (empty: of all), newest first, without
	// those that ended, or were counted as dead, more than an hour ago.
	List(ctx context.Context, consumer string) ([]Instance, error)
	// Forget removes the instances that have ended, or have not beaten, for longer than
	// age, with their marks, and suspects of that age.
	Forget(ctx context.Context, age time.Duration) error
}

// Pauses keep the pauses of consumers. Drivers implement it. A pause holds for every
// process of the consumer, also for those that start later, until it is resumed.
type Pauses interface {
	// Pause pauses p.Consumer, with p.By and p.Reason, and reports whether it was not
	// paused before: an existing pause stays as it is. The error matches ErrInvalid if
	// the name is not valid.
	Pause(ctx context.Context, p Pause) (bool, error)
	// Resume ends the pause of consumer, and reports whether there was one.
	Resume(ctx context.Context, consumer, by string) (bool, error)
	// Get returns the latest pause of consumer, also if it has ended; the zero Pause if
	// there was none. It takes no lock.
	Get(ctx context.Context, consumer string) (Pause, error)
	// List returns the latest pause of each consumer, by name.
	List(ctx context.Context) ([]Pause, error)
}
