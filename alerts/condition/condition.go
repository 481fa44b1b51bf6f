package condition

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/headrace/headrace/alerts"
)

// State is the life of a condition.
type State string

// The states of a condition.
const (
	// Pending: it is wrong, but not for long enough.
	Pending State = "pending"
	// Firing: it is wrong, or was until a short while ago.
	Firing State = "firing"
	// Resolved: it is over.
	Resolved State = "resolved"
)

// Condition is one thing that is wrong. Times are by the database's clock.
type Condition struct {
	// Alert is what is sent: its Key names the condition; its Kind, Consumer, Handler, Topic and
	// ErrorFingerprint are what the key is made of. Since is when it became wrong, Count how
	// much is.
	alerts.Alert
	// Namespace is whose lease judges it: a consumer, or "" for the database.
	Namespace string
	// Instance is the process that reports it; "" if it is judged from the tables.
	Instance string
	// State is what it is. Ended is when it was resolved, also while it is pending once more; zero
	// before.
	State State
	Ended time.Time
	// Quiet is since when nothing is wrong while it still fires; zero if something is.
	Quiet time.Time
	// Known says that a person deals with it: it is not sent again each day.
	Known bool
	// Base is the Count at BaseAt, by which the growth within 10 minutes is known.
	Base   int64
	BaseAt time.Time
}

// Origin is the database, as alerts name it.
type Origin struct {
	// ID is the database's own, drawn by its first migration.
	ID string
	// Database and Schema are names for people.
	Database, Schema string
	// Environment is the process's.
	Environment string
}

// Key returns the key of a: the same in every process of the same database and environment.
func (o Origin) Key(a alerts.Alert) string {
	h := sha256.New()
	for _, part := range []string{o.ID, o.Environment, string(a.Kind), a.Consumer, a.Handler, a.Topic, a.ErrorFingerprint} {
		_, _ = h.Write([]byte(part + "\x00")) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Send is what a sink knows of a condition, and its row.
type Send struct {
	// Key and Sink name it.
	Key  string
	Sink string
	// Phase is what the sink took last; "" if nothing. Severity and Count are those of then,
	// Sent is when.
	Phase    alerts.Phase
	Severity alerts.Severity
	Count    int64
	Sent     time.Time
	// Failures counts tries since then, Failing is when the first one was, Due when the next
	// one is, and Error why the last one failed.
	Failures int
	Failing  time.Time
	Due      time.Time
	Error    string
	// Down is when the first try failed since the sink took anything, also of another condition.
	// That it was given up does not end it.
	Down time.Time
	// Lost counts alerts that were given up.
	Lost int64
}

// Store keeps conditions and what was sent. Drivers implement it. Each call is a transaction of
// its own.
type Store interface {
	// Origin returns the database, without an Environment.
	Origin(ctx context.Context) (Origin, error)
	// Lease gives the lease called name to owner for term, or extends it, and returns the time.
	// It reports false if another one has it, or if its work was done less than every ago.
	Lease(ctx context.Context, name, owner string, term, every time.Duration) (now time.Time, ok bool, err error)
	// Release ends a lease, if owner has it, and says whether its work was done.
	Release(ctx context.Context, name, owner string, done bool) error
	// List returns the conditions of a namespace, or all if all is set, the earliest first: at
	// most 10,000.
	List(ctx context.Context, namespace string, all bool) ([]Condition, error)
	// Put writes a change, if owner still has the lease called name; otherwise it reports false.
	// A name of "" needs no lease.
	Put(ctx context.Context, name, owner string, c Change) (ok bool, err error)
	// Sends returns what a sink, or any if it is "", knows of the conditions of a namespace, or
	// of all if all is set.
	Sends(ctx context.Context, namespace, sink string, all bool) ([]Send, error)
	// Oldest returns when the oldest open dead letter of a consumer was written, and the oldest
	// one whose group is not muted; zero without one.
	Oldest(ctx context.Context, consumer string) (any, unmuted time.Time, err error)
	// Forget removes conditions that ended longer ago than age, with what was sent.
	Forget(ctx context.Context, age time.Duration) error
}

// Change is what Store.Put writes.
type Change struct {
	// Conditions and Sends replace those with their keys.
	Conditions []Condition
	Sends      []Send
	// Gone are the keys of conditions to be removed.
	Gone []string
}
