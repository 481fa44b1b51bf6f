package ledger

import (
	"errors"
	"fmt"
	"time"
)

// Errors of Do.
var (
	// ErrNotLeased matches the error of a step outside of the work of a leased handler. In
	// a transaction, as in consumer.Handle and in Effects, the commits of a step would wait
	// for the transaction's own locks.
	ErrNotLeased = errors.New("steps are for the work of consumer.HandleLeased, with the context that it is given")
	// ErrUndeclared matches the error of a step that consumer.Steps of its handler does not
	// name, or not like that.
	ErrUndeclared = errors.New("the step is not declared: name it in consumer.Steps of its handler")
	// ErrTwice matches the error of a step that was done before in the same run.
	ErrTwice = errors.New("the step was done before in this run: give each its own Name, or Of")
	// ErrEnded matches the error of a step after its handler has returned.
	ErrEnded = errors.New("the handler has returned: no step can begin")
	// ErrLost matches the error of a step whose message another process may have now: the
	// lease is lost. Nothing was called.
	ErrLost = errors.New("the lease is lost: no step can begin")
	// ErrInput matches the error of a step that is recorded as done with another Input.
	ErrInput = errors.New("the step was done with another input: its recorded result is not of this call")
	// ErrNoInput matches the error of a step with a Memo that was given no Input: its result
	// would be that of all messages.
	ErrNoInput = errors.New("a step with a Memo needs an Input: all that its result depends on")
	// ErrNoResult matches the error of a step that is done, with a result that could not
	// be kept.
	ErrNoResult = errors.New("the step is done, but its result is not recorded")
	// ErrOpenStep matches the error of a message that was to be done while one of its
	// steps is open or waits for a person (OpenError).
	ErrOpenStep = errors.New("a step is open")
)

// otherResult says how a person gives another result than the one that is recorded. It
// names nothing of the message.
const otherResult = "give the right one with headrace steps resolve SCOPE KEY STEP --done --result FILE --force"

// Certainty is what an error says of a call.
type Certainty int

// The certainties.
const (
	// Unknown: the call may have been carried out.
	Unknown Certainty = iota
	// CertainlyNotSent: this request did nothing; an earlier one may have.
	CertainlyNotSent
	// CertainlyRefused: the system answered that it did nothing.
	CertainlyRefused
	// StatusRefused is CertainlyRefused by nothing but a status. After an open call of the
	// same key it may be about the key, so a person must look.
	StatusRefused
	// AlreadyExists: the system has it from an earlier call.
	AlreadyExists
	// PersonAsked: nothing was done, and a person must decide whether it may be.
	PersonAsked
)

// marked is an error with a certainty.
type marked struct {
	err       error
	certainty Certainty
	// HTTP marks with conditions. Without an answer the mark holds if the call sent nothing, which
	// dial says of the error. Otherwise it holds if all requests of the call have answers, and
	// there are no more than hops, which led to the answer: another one may have done something.
	unanswered, dial bool
	hops             int
	// wait is that of an answer 429; 0 for any other.
	wait time.Duration
}

func (e *marked) Error() string { return e.err.Error() }
func (e *marked) Unwrap() error { return e.err }

func mark(c Certainty, err error) error {
	if err == nil {
		return nil
	}
	return &marked{err: err, certainty: c}
}

// Refused marks err as the system's answer that it did nothing. The next call of the step
// has a new idempotency key, because a system may keep its answer under the old one. nil
// stays nil.
func Refused(err error) error { return mark(CertainlyRefused, err) }

// NotSent marks err as saying that this request did nothing; an earlier one may have. The
// next call has the same key. nil stays nil.
func NotSent(err error) error { return mark(CertainlyNotSent, err) }

// Exists marks err as the system's answer that it has carried the call out before: Find says
// what that call made. It is not for a 409 that says that a request with this key is under way.
// nil stays nil.
func Exists(err error) error { return mark(AlreadyExists, err) }

// AskPerson is an error with which a step asks a person: it has done nothing, and its
// message is parked with this reason until "headrace steps resolve --done" lets it go on.
// The reason should be the same for messages that are parked for the same cause.
func AskPerson(reason string) error { return mark(PersonAsked, errors.New(reason)) }

// CertaintyOf returns what err, an error of the call c, says about it. The outermost mark
// counts. c may be nil.
func CertaintyOf(err error, c *Call) Certainty {
	m, ok := errors.AsType[*marked](err)
	if !ok || m == nil {
		return Unknown
	}
	if m.unanswered && !c.unsent(m.dial) || m.hops > 0 && !c.answeredBy(m.hops) {
		return Unknown // Go sends a POST with an idempotency key again by itself
	}
	return m.certainty
}

// ParkedError says that a person must decide on a step before its message can go on. Its
// text is the same for every message with the same reason, so that they are one group of
// dead letters.
type ParkedError struct {
	// Step is the name of the step without its item, a former one if it is recorded under
	// that; System is what it calls.
	Step, System string
	// Reason says why.
	Reason string
	// Err is the error of the last call; may be nil. It is not part of the text.
	Err error
}

// Error says which step and why.
func (e *ParkedError) Error() string {
	return fmt.Sprintf("step %s (%s) needs a person: %s: see headrace steps", e.Step, e.System, e.Reason)
}

// OneReason says that dead letters of this error are one group, whatever Err is.
func (*ParkedError) OneReason() {}

// Unwrap returns the error of the last call.
func (e *ParkedError) Unwrap() error { return e.Err }

// OpenError says that a message cannot be done because of a step.
type OpenError struct {
	// Step is the name of the step without its item, System what it calls.
	Step, System string
	// State is Pending, Parked or Awaiting.
	State State
}

// Error says which step.
func (e *OpenError) Error() string {
	if e.State == Awaiting {
		return fmt.Sprintf("%v: the message waits for signal %s, and the handler returned no error: return the error of Await", ErrOpenStep, e.Step)
	}
	return fmt.Sprintf("%v: step %s (%s) is %s, and the handler returned no error: have it do the step and return the error of Do, or say what became of it with headrace steps resolve", ErrOpenStep, e.Step, e.System, e.State)
}

// Is reports whether target is ErrOpenStep.
func (e *OpenError) Is(target error) bool { return target == ErrOpenStep }

// NeedsPerson reports whether err says that only a person can decide: its message becomes
// a dead letter of class parked.
func NeedsPerson(err error) bool {
	parked, ok := errors.AsType[*ParkedError](err)
	if ok && parked != nil {
		return true
	}
	open, ok := errors.AsType[*OpenError](err)
	return ok && open != nil
}
