package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/headrace/headrace/intent"
)

// Missing says what becomes of items that are missing.
type Missing string

// What becomes of them.
const (
	// Report counts them, sends an alert, and names the first of them in the answer.
	Report Missing = "report"
	// Enqueue starts them too, as intents of the Kind with the header headrace-origin:
	// reconcile.
	Enqueue Missing = "enqueue"
)

// Defaults and limits of a Job.
const (
	// DefaultGrace, DefaultMostMissing and DefaultMostShare are the defaults of Job.Grace,
	// Job.MostMissing and Job.MostShare.
	DefaultGrace       = time.Hour
	DefaultMostMissing = 1000
	DefaultMostShare   = 0.05

	leastTime = time.Second
	// leastForShare is how many items make a share that says something.
	leastForShare = 20
	// maxHeld is how many missing items one run can start.
	maxHeld = 100_000
	// maxKeys is how many keys the report names.
	maxKeys = 100
)

// page is how many keys one query asks for. Tests have smaller ones.
var page = 1000

// Origin is the value of the header intent.OriginHeader of what a Job starts.
const Origin = "reconcile"

// Item is what a source of truth has.
type Item[T any] struct {
	// Value is what the handler of the Kind gets.
	Value T
	// At is when its message was due, as when the order was paid. It must not change later.
	// Required.
	At time.Time
	// Owner, Key and OrderKey are as in intent.Request. Owner and Key are required where the
	// Kind has no Key.
	Owner, Key, OrderKey string
}

// Window is the time that a run compares: from From, before To.
type Window struct{ From, To time.Time }

// Source returns the items whose At is in w, in any order, and ends with an error if it
// cannot. It may be read in pages: the next one is asked for when the last was compared.
// Items outside of w are counted and not compared. It returns when ctx ends.
type Source[T any] func(ctx context.Context, w Window) iter.Seq2[Item[T], error]

// Job compares a source of truth with the messages of a Kind.
type Job[T any] struct {
	// Name is that of the schedule, and of the handler. Required.
	Name string
	// Kind is that of the handler whose messages are looked for; its consumer works on the
	// same database. With Enqueue its SameWhen is required.
	Kind intent.Kind[T]
	// Source has the items. Required.
	Source Source[T]
	// Lookback is how far back from its tick a run looks. Required; above Grace, and with the
	// longest delay of a tick and Grace below the retention of the Kind's consumer.
	Lookback time.Duration
	// Grace is how long a message may be on its way: younger items are not looked at. It also
	// bounds how much the clocks of the source and the database may differ. Default: an hour.
	Grace time.Duration
	// Missing says what becomes of missing items. Required.
	Missing Missing
	// MostMissing is how many items Enqueue starts without asking a person, and MostShare
	// which share of all, if there are 20 at least. Defaults: 1,000 and 0.05.
	MostMissing int
	MostShare   float64
}

// check returns the Job with its defaults, or an error that names the field.
func (j Job[T]) check() (Job[T], error) {
	j.Grace, j.MostMissing, j.MostShare = cmp.Or(j.Grace, DefaultGrace), cmp.Or(j.MostMissing, DefaultMostMissing), cmp.Or(j.MostShare, DefaultMostShare)
	switch {
	case j.Kind.Consumer == "" || j.Kind.Handler == "":
		return j, errors.New("the Kind names no handler")
	case j.Source == nil:
		return j, errors.New("there is no Source")
	case j.Missing != Report && j.Missing != Enqueue:
		return j, fmt.Errorf("the Missing %q is unknown: it is Report or Enqueue", j.Missing)
	case j.Missing == Enqueue && j.Kind.SameWhen == nil:
		return j, errors.New("the Missing Enqueue needs a Kind with SameWhen: a message that comes after its item was started has other bytes, and would be a conflict")
	case j.Grace < leastTime:
		return j, fmt.Errorf("the Grace %s is too short: give it a unit, as in time.Hour", j.Grace)
	case j.Lookback <= j.Grace:
		return j, fmt.Errorf("the Lookback %s is not above Grace (%s): nothing would be compared", j.Lookback, j.Grace)
	case j.MostMissing < 0:
		return j, fmt.Errorf("the MostMissing %d is negative", j.MostMissing)
	case j.MostShare < 0 || j.MostShare > 1:
		return j, fmt.Errorf("the MostShare %g is not between 0 and 1", j.MostShare)
	}
	return j, nil
}

// request asks for the intent of an item.
func (i *Item[T]) request() intent.Request[T] {
	return intent.Request[T]{
		Owner: i.Owner, Key: i.Key, Value: i.Value, OrderKey: i.OrderKey, Time: i.At, Metadata: map[string]string{intent.OriginHeader: Origin},
	}
}
