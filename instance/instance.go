package instance

import (
	"time"

	"github.com/headrace/headrace/inbox"
)

// Missed is how long an instance may go without a beat until it is taken for dead:
// several beats, so that one that is late is not.
const Missed = 12 * time.Second

// Instance is one run of a consumer in one process. Times are the database's.
type Instance struct {
	// ID is drawn by the process, and never used again; Consumer is the name of the
	// consumer that it runs.
	ID       string
	Consumer string
	// Host and Build say where it runs, and which build of the user's program; "" if
	// that is not known.
	Host  string
	Build string
	// Started is when it started.
	Started time.Time
	// Beat is when it last beat; Age how long ago that was when it was read.
	Beat time.Time
	Age  time.Duration
	// Ended is when it ended in order; zero while it runs, and where it ended without a
	// word.
	Ended time.Time
	// Outlived says that another instance of the consumer went on as usual after this
	// one had missed its beats: it is no reason for caution any more.
	Outlived bool
	// Running is the message that it wrote down in cautious mode; zero if none. Settled
	// says that this message has come to its end since.
	Running inbox.ID
	Settled bool
}

// Dead reports whether the instance ended without a word: it has not beaten for longer
// than missed.
func (i Instance) Dead(missed time.Duration) bool { return i.Ended.IsZero() && i.Age > missed }

// Caution is how carefully a process goes about its messages.
type Caution int32

// The degrees of caution.
const (
	// Normal: as fast as it can.
	Normal Caution = iota
	// Watchful: a message that was written down by an instance that died runs as in
	// Cautious, all others as in Normal.
	Watchful
	// Cautious: messages run one at a time, and each is written down before it runs.
	Cautious
)

// String names the degree for logs.
func (c Caution) String() string { return [...]string{"normal", "watchful", "cautious"}[c] }

// Advice says what to do with a message, or several of them.
type Advice int

// The kinds of advice.
const (
	// Go: run them.
	Go Advice = iota
	// Singly: ask for each of them.
	Singly
	// Wait: an instance that may still be alive runs it; ask again later.
	Wait
	// Crashed: it has ended its process as often as it may.
	Crashed
)
