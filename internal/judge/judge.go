package judge

import "github.com/headrace/headrace/store/txn"

// MaxReruns is how often a message runs again without spending an attempt: after a
// deadlock, a lost connection, or a COMMIT without an answer.
const MaxReruns = 2

// Phase is the part of a transaction in which a failure happened.
type Phase int

// The phases, in their order.
const (
	// Claim: our statements before the handlers, from BEGIN on.
	Claim Phase = iota
	// Handler: the handler of one message, or of a batch.
	Handler
	// Record: our statements after the handlers.
	Record
	// Commit: COMMIT.
	Commit
)

// Store is the known state of the store.
type Store int

// The states of the store.
const (
	// NotAsked: unknown.
	NotAsked Store = iota
	// Serves: it answers, and the failed statement succeeds with a harmless row.
	Serves
	// Away: it does not work.
	Away
)

// Facts describe a failure.
type Facts struct {
	Phase Phase
	// Class is the class of the error.
	Class txn.Class
	// Lost says that our own connection did not answer the rollback, or that our
	// transaction was gone.
	Lost bool
	// Store is the result of the ping and the probe.
	Store Store
	// Messages is how many messages may be the cause: all of the transaction, or those
	// since the savepoint of the rollback.
	Messages int
	// Reruns is how often the message ran again for free; the largest number of several.
	Reruns int

	// About a handler.

	// Elsewhere says that the error does not come from our transaction, even if it looks
	// so: the handler had run no statement, or none had failed and the transaction still
	// works.
	Elsewhere bool
	// Late says that its deadline had passed.
	Late bool
	// Unclear says that it handles a batch, and did not say which message failed.
	Unclear bool
	// Cancelled says that its context ended because the consumer stops.
	Cancelled bool
	// Refused says that it did not run, because the program is set up wrongly.
	Refused bool

	// About a COMMIT.

	// Unknown says that it had no answer.
	Unknown bool
	// Switched says that a handler had ended the transaction.
	Switched bool
}

// Decision says what to do about a failure.
type Decision int

// The decisions.
const (
	// Ask: test whether the store works, and decide again.
	Ask Decision = iota
	// Await: the store is the cause. Wait until it works, and run the messages again.
	Await
	// Split: the cause is unknown. Run fewer of the messages together.
	Split
	// Again: run the same messages again. The claim shows whether COMMIT had happened.
	Again
	// Busy: other transactions hold the rows. Try the messages again after a while.
	Busy
	// Rerun: the message runs again later, without spending an attempt.
	Rerun
	// Fail: it is a failed attempt of the message.
	Fail
	// Release: nothing happened. Give the messages back.
	Release
	// Stop: the consumer must stop, since a handler ended the transaction.
	Stop
)

var decisions = [...]string{"ask", "await", "split", "again", "busy", "rerun", "fail", "release", "stop"}

// String names the decision.
func (d Decision) String() string { return decisions[d] }

// Decide returns what to do about a failure. It returns Ask only if the facts do not say
// whether the store works.
func Decide(f Facts) Decision {
	switch {
	case f.Switched:
		return Stop
	case f.Refused, f.Cancelled:
		return Release
	case f.mayBeStore() && f.Store == NotAsked:
		return Ask
	case f.mayBeStore() && f.Store == Away:
		return Await
	}
	switch f.Phase {
	case Claim:
		return f.claim()
	case Handler:
		return f.handler()
	case Record:
		return f.record()
	}
	return f.commit()
}

// mayBeStore reports whether the store is the cause if it does not work.
func (f Facts) mayBeStore() bool {
	switch f.Phase {
	case Claim:
		return !f.Class.Conflict()
	case Handler:
		return f.Lost || f.Class == txn.Unavailable && !f.Unclear && !f.Elsewhere && !f.Late
	case Record:
		return !f.Class.Conflict() && f.Class != txn.Aborted
	}
	return f.Class == txn.Unavailable && !f.Unknown
}

// claim: no handler has run, so no message spends an attempt.
func (f Facts) claim() Decision {
	if f.Messages > 1 {
		return Split
	}
	return Busy
}

func (f Facts) handler() Decision {
	switch {
	case f.Unclear:
		return Split
	case f.Late: // the end of its context may have ended the connection too
		return Fail
	case f.Lost && f.Messages > 1 && f.Reruns >= MaxReruns: // an earlier message may have lost it without noticing
		return Split
	case f.Lost:
		return f.free()
	case f.Elsewhere:
		return Fail
	case f.Class.Conflict(), f.Class == txn.Unavailable:
		return f.free()
	case f.Messages > 1 && (f.Class == txn.Aborted || f.Class == txn.Exists): // an earlier message ignored a failed statement, or left what exists
		return Split
	}
	return Fail
}

// record: our own statement fails after the handlers have run. If it succeeds with a
// harmless row, a handler caused the failure.
func (f Facts) record() Decision {
	switch {
	case f.Messages > 1:
		return Split
	case f.Class == txn.Aborted: // it ignored a failed statement
		return Fail
	}
	return f.free()
}

func (f Facts) commit() Decision {
	switch {
	case f.Unknown && f.Messages > 1 && f.Reruns > 0:
		return Split
	case f.Unknown && (f.Messages > 1 || f.Reruns < MaxReruns):
		return Again
	case f.Unknown:
		return Fail
	case f.Messages > 1:
		return Split
	case f.Class == txn.Unavailable, f.Class.Conflict():
		return f.free()
	}
	return Fail
}

// free runs a message again for free, as often as allowed.
func (f Facts) free() Decision {
	if f.Reruns < MaxReruns {
		return Rerun
	}
	return Fail
}
