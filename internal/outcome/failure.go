package outcome

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/judge"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/retry"
)

// ErrLeaseLost ends the context of leased work whose lease could not be extended in time,
// or was taken over. The next holder of the lease records it as the failure of this run.
var ErrLeaseLost = errors.New("lease lost")

// ErrCrashed is the error of a message that has ended too many processes and does not run
// again.
var ErrCrashed = errors.New("the process ended unexpectedly, several times, while it ran this message")

// Kind is the kind of a failure.
type Kind int

// The kinds of failures.
const (
	// Failed: an attempt; the policy decides what happens next.
	Failed Kind = iota
	// Rerun: run again without spending an attempt.
	Rerun
	// Stale: the handler found that a newer message was applied.
	Stale
	// Undecodable: no handler can take the message.
	Undecodable
	// Crashed: it ends its process.
	Crashed
	// HeldBack: it did not run, because an earlier message of its strict order key
	// failed.
	HeldBack
)

// Failure is a message that a transaction does not apply, and the reason.
type Failure struct {
	Task  *task.Task
	Kind  Kind
	Err   error
	Stack []byte
	Took  time.Duration
	// Awaits are the signals that the run found missing.
	Awaits []string

	// The fields below are set by Record. Outcome is Released for a message that is held
	// back.
	Outcome task.Outcome
	// Class is the class of the attempt, Attempt its number; "" and 0 for none. Delay is
	// how long the message waits.
	Class   string
	Attempt int
	Delay   time.Duration
	// Postponed says that it is no attempt: the handler asked to run later.
	Postponed bool
	// LetterID is the id of the dead letter; 0 if there is none.
	LetterID int64
	// Description describes Err.
	Description dlq.Failure

	letter  dlq.Class
	overdue bool // it has been postponed for as long as it may be
}

// errUnused is never returned. An error that matches it matches every error.
var errUnused = errors.New("unused")

// KindOf returns the kind of a handler's error, after package judge has decided that the
// message is the cause. An error that matches every error is Failed: as Stale, the message
// would be done without its effects.
func KindOf(err error) Kind {
	if errors.Is(err, inbox.ErrStale) && !errors.Is(err, errUnused) {
		return Stale
	}
	return Failed
}

// RunClass is the class in metrics of a run that ended with err: "" if it did not fail,
// and "postponed" if the handler asked to run later.
func RunClass(err error) string {
	_, _, later := retry.Postponed(err)
	switch {
	case err == nil, KindOf(err) == Stale:
		return ""
	case later && !retry.IsPermanent(err):
		return telemetry.Postponed
	}
	return string(retry.Classify(err))
}

// classify returns the class of the attempt.
func (f *Failure) classify() retry.Class {
	switch {
	case errors.Is(f.Err, ErrLeaseLost):
		return retry.Lost
	case errors.Is(f.Err, runner.ErrStuck):
		return retry.Timeout
	}
	return retry.Classify(f.Err)
}

// postpone reports whether the handler asked to run again later, and the message has not
// been postponed too long.
func (f *Failure) postpone() bool {
	delay, bound, ok := retry.Postponed(f.Err)
	if !ok || retry.IsPermanent(f.Err) {
		return false
	}
	if bound == 0 {
		bound = f.Task.Handler.Policy.MaxPostpone
	}
	var before time.Duration
	if f.Task.Item != nil {
		before = f.Task.Item.Postponed
	}
	if before >= bound {
		f.overdue = true
		f.Err = fmt.Errorf("postponed for %s, longer than %s: %w", before.Round(time.Second), bound, f.Err)
		return false
	}
	f.Delay, f.Postponed = min(delay, bound-before), true
	return true
}

// firstRerun is the pause before the first free rerun: the other transaction has time to
// end.
const firstRerun = 50 * time.Millisecond

// RerunPause is the pause before a free rerun, after that many earlier ones: each is four
// times as long as the one before, up to 800 ms. There may have been more than judge.MaxReruns:
// each COMMIT without an answer counts, also that which was to record the rerun.
func RerunPause(reruns int) time.Duration {
	return firstRerun << (2 * min(reruns, judge.MaxReruns))
}
