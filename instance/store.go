package instance

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/inbox"
)

// ErrUnknown matches the error of a beat, or of writing a message down, for an
// instance that has no row: it was forgotten, and has to start again.
var ErrUnknown = errors.New("no such instance")

// Store keeps the rows of instances. Drivers implement it. Each method is one
// transaction of its own, and waits for the database until ctx ends.
type Store interface {
	// Start writes the row of i, or says that it runs if it has one.
	Start(ctx context.Context, i Instance) error
	// Beat says that the instance runs: one UPDATE by primary key.
	Beat(ctx context.Context, id string) error
	// End says that it ended in order.
	End(ctx context.Context, id string) error
	// Run writes down the message that the instance is about to run; the zero ID says
	// that it returned.
	Run(ctx context.Context, id string, m inbox.ID) error
	// List returns the instances of consumer (empty: of all), newest first, without
	// those that ended, or were outlived with nothing written down, more than an hour
	// ago.
	List(ctx context.Context, consumer string) ([]Instance, error)
	// Deaths counts the instances of consumer, but not the one called id, that have not
	// beaten for longer than missed, have not ended, and wrote m down after the last
	// recorded attempt of m and the last move of its inbox row. unsure counts those that
	// wrote it down and have beaten since.
	Deaths(ctx context.Context, id, consumer string, m inbox.ID, missed time.Duration) (deaths, unsure int, err error)
	// Outlive says that the instance called id goes on as usual: those of its consumer
	// that have not beaten for longer than missed are outlived.
	Outlive(ctx context.Context, id string, missed time.Duration) error
	// Forget removes the instances that ended, or have not beaten, for longer than age.
	Forget(ctx context.Context, age time.Duration) error
}

// Pauses keep the marks of paused consumers. Drivers implement it. A mark counts for
// every process of the consumer, also for those that start later, until it is resumed.
type Pauses interface {
	// Pause marks p.Consumer as paused by p.By for p.Reason, and reports whether it was
	// not before: a pause that lasts is left as it is. The error matches ErrInvalid where
	// no consumer can have the name.
	Pause(ctx context.Context, p Pause) (bool, error)
	// Resume ends the pause of consumer, and reports whether there was one.
	Resume(ctx context.Context, consumer, by string) (bool, error)
	// Get returns the latest pause of consumer, also if it has ended; the zero Pause if
	// there was none. It takes no lock.
	Get(ctx context.Context, consumer string) (Pause, error)
	// List returns the latest pause of each consumer, by name.
	List(ctx context.Context) ([]Pause, error)
}
