package instance

import (
	"context"
	"time"

	"github.com/headrace/headrace/inbox"
)

// Store keeps the rows of instances. Drivers implement it. Each method is one
// transaction of its own.
type Store interface {
	// Start writes i's row.
	Start(ctx context.Context, i Instance) error
	// Beat says that the instance runs.
	Beat(ctx context.Context, id string) error
	// End says that it ended in order.
	End(ctx context.Context, id string) error
	// Run writes down the message that the instance is about to run; the zero ID says
	// that it returned.
	Run(ctx context.Context, id string, m inbox.ID) error
	// List returns the instances of consumer (empty: of all), newest first. Those that
	// ended longer than an hour ago are left out.
	List(ctx context.Context, consumer string) ([]Instance, error)
	// Deaths counts the instances of consumer that have missed beats for longer than
	// missed while they ran m and since the last recorded attempt of m; unsure counts
	// those that ran m and may still be alive, except the instance id.
	Deaths(ctx context.Context, id, consumer string, m inbox.ID, missed time.Duration) (deaths, unsure int, err error)
	// Forget removes the instances that ended, or have not beaten, for longer than age.
	Forget(ctx context.Context, age time.Duration) error
}

// Pauses keep the marks of paused consumers. Drivers implement it.
type Pauses interface {
	// Pause marks the consumer, and reports whether it was not before.
	Pause(ctx context.Context, p Pause) (bool, error)
	// Resume removes the mark, and reports whether there was one.
	Resume(ctx context.Context, consumer string) (bool, error)
	// Paused returns the marks of all consumers, by name.
	Paused(ctx context.Context) ([]Pause, error)
}
