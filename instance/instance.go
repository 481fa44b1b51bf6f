package instance

import (
	"time"

	"github.com/headrace/headrace/inbox"
)

// Instance is one run of a consumer in one process.
type Instance struct {
	// ID is unique over all processes.
	ID string
	// Consumer is its name; Host and Build say where it runs, and which program.
	Consumer string
	Host     string
	Build    string
	// Started is when it started, by the database's clock.
	Started time.Time
	// Beat is when it last beat; Age how long ago that was when it was read.
	Beat time.Time
	Age  time.Duration
	// Ended says that it ended in order.
	Ended bool
	// Running is the message that it runs in cautious mode; zero if none.
	Running inbox.ID
}

// Pause is a person's mark that a consumer shall take no messages.
type Pause struct {
	// Consumer is the name of the paused one.
	Consumer string
	// By and Reason are the words of who paused it, At when, by the database's clock.
	By     string
	Reason string
	At     time.Time
}
