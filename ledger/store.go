package ledger

import (
	"context"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// State is what is known of a step.
type State string

// The states.
const (
	// Pending: a call has begun, and its outcome is not known.
	Pending State = "pending"
	// Done: it was carried out, and its result is recorded.
	Done State = "done"
	// Failed: no call has done anything; it may be called again.
	Failed State = "failed"
	// Parked: a person must decide, or give the result (Row.LacksResult).
	Parked State = "parked"
	// Skipped: the outcome is unknown, and it counts as finished.
	Skipped State = "skipped"
	// Awaiting: the message waits for a signal.
	Awaiting State = "awaiting"
	// Expired: no signal came in time.
	Expired State = "expired"
)

// What Admin.Count counts beside states.
const (
	// Doubled: two calls of it were carried out (Row.OtherID), and no person has said since what became
	// of the second.
	Doubled State = "doubled"
	// SkippedNow: it became Skipped within the last hour, and not by a person.
	SkippedNow State = "skipped_now"
)

// Via says how the result of a step became known.
type Via string

// The ways.
const (
	// ViaCall: the call returned it.
	ViaCall Via = "call"
	// ViaExists: the system said that it exists, and Find found it.
	ViaExists Via = "exists"
	// ViaProbe: Find found it after a call whose outcome was unknown.
	ViaProbe Via = "probe"
	// ViaMemo: it is that of another message (Step.Memo).
	ViaMemo Via = "memo"
	// ViaSignal: it is the value of a signal.
	ViaSignal Via = "signal"
	// ViaPerson: a person said so.
	ViaPerson Via = "person"
)

// Row is what is recorded of a step of a message.
type Row struct {
	// ID is the message, Step the whole name of the step, System what it calls.
	ID     inbox.ID
	Step   string
	System string
	// State is what is known of it.
	State State
	// Generation counts the idempotency keys that the step has used up, Calls its calls: 0
	// if it is not known whether there was any (SuspectMode).
	Generation, Calls int
	// CallID is random. It names the latest call, or in state Done the one that returned
	// the result.
	CallID string
	// InputHash is the hash of Input; "" without, and if a person's decision counts for any
	// input.
	InputHash string
	// Result is the result's JSON. It is nil if there is none, and where a list leaves it
	// out: Size is its length, -1 if there is none.
	Result []byte
	Size   int
	// ExternalID is what Call.SetID was given. OtherID is what a second call made that
	// was not wanted; "" if there was none.
	ExternalID, OtherID string
	// Via is "" unless the step is Done, or LacksResult.
	Via Via
	// Error is that of the latest call, or the reason why a person must decide.
	Error string
	// Age is how long ago the first call of the generation began, and Idle how long ago the
	// latest did. For a signal Age is how long ago its time was over; it is negative before
	// that. Changed is when the row changed, by the database's clock.
	Age, Idle time.Duration
	Changed   time.Time
	// Unsettled is how much longer the system may work on a call; not above 0 if that is over.
	// For Mark, Repeat and MarkOpen it is how long it may work on the call that begins.
	Unsettled time.Duration
	// By and Reason are of the last decision of a person; "" if there was none.
	By, Reason string
	// Sent is the time of the message, for Mark and Repeat; zero if it is unknown. It is
	// not recorded.
	Sent time.Time
}

// MayHaveCalled reports whether its system may have carried out the call, so that it would be made
// again under another key: it is no signal, and the call has not failed.
func (r Row) MayHaveCalled() bool { return r.System != "" && r.State != Failed }

// LacksResult reports whether the step was carried out, and a person must give the result,
// which could not be kept, or was not given. Such a step is Parked.
func (r Row) LacksResult() bool { return r.State == Parked && r.Via != "" }

// Store keeps the rows for the engine. Drivers implement it. Each change is one statement
// with a commit of its own. It may be made again if its outcome is unknown
// (txn.ErrCommitUnknown): it names its call, and changes nothing the second time.
type Store interface {
	// List returns the rows of a message, without results longer than 64 KiB.
	List(ctx context.Context, id inbox.ID) ([]Row, error)
	// Result returns a row's result; nil if there is none.
	Result(ctx context.Context, id inbox.ID, step string) ([]byte, error)
	// Mark inserts r as pending, and reports whether it did, now or in an earlier try of the
	// call r.CallID: there was no other row, l is still held, and SuspectMode does not cover
	// r.Sent. A claim of l waits for its commit.
	Mark(ctx context.Context, l backlog.Lease, r Row) (bool, error)
	// Repeat makes the row was pending for the call r.CallID, if it is still in that state
	// and of that call and l is still held, and reports whether it was. A higher
	// r.Generation begins a new one. It does not where SuspectMode covers r.Sent and the
	// row is Failed since before that.
	Repeat(ctx context.Context, l backlog.Lease, was, r Row) (bool, error)
	// RecordDone records that the step was carried out, also from a process without its lease, unless that is
	// recorded, and reports whether it did. With r.Error the row LacksResult.
	RecordDone(ctx context.Context, r Row) (bool, error)
	// RecordOutcome records what else came of the call r.CallID, if the row is still
	// pending for it, and reports whether it was. With r.Via it parks the row of a step that is
	// done without its result (LacksResult). With a lease, it must still be held; the
	// zero Lease is for the one that has made the call.
	RecordOutcome(ctx context.Context, l backlog.Lease, r Row) (bool, error)
	// RecordDouble records r.OtherID: what a second call of the step made. The first one stays.
	// By and Reason are "" then: an earlier decision of a person is not about it.
	RecordDouble(ctx context.Context, r Row) (bool, error)
	// Open returns, of each of these messages that has one, the first step that is pending, parked or
	// awaiting, as q sees it, or else one that is not failed and whose name, without its item, is none
	// of known: its ID, Step, System and State.
	Open(ctx context.Context, q headrace.DBTX, ids []inbox.ID, known []string) (map[inbox.ID]Row, error)
}

// Admin reads and changes the rows for operators. Drivers implement it.
type Admin interface {
	// Find returns at most limit rows with this ExternalID or OtherID, the oldest change first,
	// without results.
	Find(ctx context.Context, system, externalID string, limit int) ([]Row, error)
	// Search returns at most limit rows, the oldest change first, without results.
	Search(ctx context.Context, f Filter, limit int) ([]Row, error)
	// Count returns how many rows of a consumer, or of all if it is "", have each of the
	// states pending, parked, skipped and awaiting, and are Doubled or SkippedNow, up to MaxCount of each. Pending ones count
	// if they changed idle ago at least, and are among the MaxCount of all consumers that
	// changed longest ago.
	Count(ctx context.Context, consumer string, idle time.Duration) (map[State]int64, error)
	// Blocking returns the name of a parked step of each of
	// these messages that has one, as t sees them.
	Blocking(ctx context.Context, t *txn.Txn, ids []inbox.ID) (map[inbox.ID]string, error)
	// Lock returns the row in t, locked until t ends, and whether it exists.
	Lock(ctx context.Context, t *txn.Txn, id inbox.ID, step string) (Row, bool, error)
	// Resolve writes what a person says of the row: its State, Generation, InputHash,
	// Result, ExternalID, Via, Error, By and Reason.
	Resolve(ctx context.Context, t *txn.Txn, r Row) error
	// Discard makes the steps of messages that are pending or parked Skipped, with By and
	// Reason: the messages were discarded, and need no person. It returns, of each of these messages
	// that had some, the name of one; "" if it is known to be carried out (LacksResult).
	Discard(ctx context.Context, t *txn.Txn, ids []inbox.ID, by, reason string) (map[inbox.ID]string, error)
	// Erase removes the results of a message's steps, if the message is done or
	// discarded, its answer, and the shared results (Memo) of their systems and inputs. It
	// returns how many.
	Erase(ctx context.Context, t *txn.Txn, id inbox.ID) (int, error)
}

// Filter chooses rows.
type Filter struct {
	// State and System are those of a row; "" for any. Without a State, only rows that are
	// pending, parked or skipped are found.
	State  State
	System string
	// Idle is how long ago the row changed at least.
	Idle time.Duration
	// Doubled finds the rows with an OtherID instead, of System or any.
	Doubled bool
}
