package job

import (
	"context"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/store/txn"
)

// Store keeps redrives and their letters. Drivers implement it. The caller ends the transaction
// that it passes to a method; each other method is one of its own, or a query outside of one.
type Store struct {
	Plans
	Steps
	Reader
}

// Plans writes plans.
type Plans interface {
	// Create records a redrive that is Preparing, and returns its id.
	Create(ctx context.Context, r Redrive) (int64, error)
	// Add puts the open letters of a filter in a window onto the list, and returns what is to be
	// known about them. The filter says nothing that Go decides (dlq.Filter.InGo).
	Add(ctx context.Context, id int64, f dlq.Filter, w dlq.Span) ([]Survey, error)
	// Planned records that the list has count letters and is complete, and what Survey says of them:
	// the plan may be applied for valid.
	Planned(ctx context.Context, id, count int64, valid time.Duration, survey []Survey) error
	// Forget removes redrives of consumer that ended, or were planned and never applied, longer
	// ago than age, with at most limit of their letters, and reports whether more are left.
	Forget(ctx context.Context, consumer string, age time.Duration, limit int) (more bool, err error)
}

// Steps moves jobs on.
type Steps interface {
	// Due returns the running and the paused jobs of consumer.
	Due(ctx context.Context, consumer string) (running, paused []int64, err error)
	// Lock locks a redrive and returns it. If wait is false and another transaction has the lock,
	// or there is no such redrive, it reports false.
	Lock(ctx context.Context, t *txn.Txn, id int64, wait bool, limits txn.Limits) (Redrive, bool, error)
	// Change writes what may change in a redrive: all but what the plan has fixed.
	Change(ctx context.Context, t *txn.Txn, r Redrive) error
	// Looks returns what the tables say about the letters that were sent and have no final
	// outcome, the first that was sent first.
	Looks(ctx context.Context, t *txn.Txn, id int64) ([]Look, error)
	// Next returns at most limit queued letters by id: of a strict order key only the oldest, and
	// none while one is under way.
	Next(ctx context.Context, t *txn.Txn, id int64, limit int) ([]Candidate, error)
	// Settle writes the State, Why, key, OrderKey and Next of entries. Those that become Sent are
	// sent now.
	Settle(ctx context.Context, t *txn.Txn, id int64, entries []Entry) error
	// SkipBehind skips the queued letters behind the messages of these scopes and order keys
	// (Entry.ID.Scope, Entry.OrderKey) with its Why, and returns how many.
	SkipBehind(ctx context.Context, t *txn.Txn, id int64, entries []Entry) (int64, error)
	// Waits returns the queued letter of the lowest id that waits behind an order key, and how
	// many wait behind that key; 0 if none does.
	Waits(ctx context.Context, t *txn.Txn, id int64) (first Entry, behind int64, err error)
}

// Reader reads redrives.
type Reader interface {
	// Get returns a redrive, or an error that matches ErrNotFound.
	Get(ctx context.Context, id int64) (Redrive, error)
	// List returns the newest redrives of consumer, or of all if it is empty, newest first.
	List(ctx context.Context, consumer string, limit int) ([]Redrive, error)
	// Unfinished returns the redrives of consumer that run or are paused, by these states.
	Unfinished(ctx context.Context, consumer string) (map[State]Unfinished, error)
	// Entries returns at most limit letters of a redrive in a state ("" for all) with a letter id
	// above after, by letter.
	Entries(ctx context.Context, id int64, state Outcome, after int64, limit int) ([]Entry, error)
	// LooksOf returns the same as Looks, outside of a transaction, for at most limit letters with an
	// id above after and up to upTo.
	LooksOf(ctx context.Context, id, after, upTo int64, limit int) ([]Look, error)
	// Survey returns what is to be known about the first limit queued letters of a redrive before
	// they are sent. It reads each of them.
	Survey(ctx context.Context, id int64, limit int) ([]Survey, error)
	// NewLetters returns how many letters these builds have written since the plan for the same
	// reasons as those of its letters.
	NewLetters(ctx context.Context, r Redrive, builds []string) (int64, error)
}

// Unfinished are the redrives of one state.
type Unfinished struct {
	// Jobs is how many they are, and Queued how many of their letters were neither sent nor
	// skipped.
	Jobs, Queued int64
}

// Survey counts queued letters of a redrive that a build of one handler gave up.
type Survey struct {
	// Handler and Build gave up Letters letters; "" is for letters that retention has removed.
	Handler string `json:"handler"`
	Build   string `json:"build"`
	Letters int64  `json:"letters"`
	// Again were redriven before. Crashed ended their process, and are sent one at a time. StandIn
	// have no key of their own: their handler is asked again. Conflicts and Review cannot be
	// redriven: their key belongs to another message, or a step of theirs needs a person. OpenCalls
	// have a step, also of Review, whose call may have been carried out: a discard skips them. Closed
	// are not open any more: another person has decided on them. Held are open, and another redrive
	// that is not finished will send them, such as HeldBy.
	Again     int64 `json:"redriven_before"`
	Crashed   int64 `json:"crashed"`
	StandIn   int64 `json:"without_key"`
	Conflicts int64 `json:"conflicts"`
	Review    int64 `json:"need_review"`
	OpenCalls int64 `json:"open_calls"`
	Closed    int64 `json:"not_open"`
	Held      int64 `json:"in_another_redrive"`
	HeldBy    int64 `json:"other_redrive,omitempty"`
}

// Plus adds the counts of another one.
func (s *Survey) Plus(o Survey) {
	s.Letters, s.Again, s.Crashed, s.StandIn, s.Conflicts = s.Letters+o.Letters, s.Again+o.Again, s.Crashed+o.Crashed, s.StandIn+o.StandIn, s.Conflicts+o.Conflicts
	s.Review, s.OpenCalls, s.Closed, s.Held, s.HeldBy = s.Review+o.Review, s.OpenCalls+o.OpenCalls, s.Closed+o.Closed, s.Held+o.Held, max(s.HeldBy, o.HeldBy)
}
