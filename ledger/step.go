package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/jsontext"
)

// Step declares a call of a system outside of the database. Make it a variable of your
// package, and name it in consumer.Steps of its handler. It is a value: Of and Input
// return changed copies.
//
// T is kept as JSON, and builds before and after this one read it. So a release may add fields
// to a struct in T, which are zero in older results, or remove some, but not both. Do returns a
// permanent error for a recorded result that T cannot read. It also does so if the result has a
// field that T does not know while T has a field that the result lacks, as after a rename.
// Fields with omitempty are compared only if they are set.
type Step[T any] struct {
	// Name identifies the step within its message. Required, unique in its handler, at
	// most 128 bytes without a slash. It must not change while messages are under way,
	// unless Was names the old one.
	Name string
	// Was are former names of the step.
	Was []string
	// System names the system that is called, as operators know it. Required.
	System string
	// Recover says what to do after a call whose outcome is unknown. Required: there is
	// no safe default.
	Recover Recovery
	// KeyWindow is how long the system drops repetitions of an idempotency key, from the
	// first call: 24 h at Stripe. Required for Retry, and only for it. The database's clock
	// counts: one that is set back by an hour lengthens the window by an hour, unless the
	// first call is then in the future: such a window is over.
	KeyWindow time.Duration
	// Find asks the system whether the call was carried out, by Call.Key or by a
	// reference that the call left there. What it returns with true becomes the step's
	// result. Required for Probe.
	Find func(ctx context.Context, c *Call) (result T, found bool, err error)
	// FindAfter is how long the system may go on with a call that no process waits for any
	// more: until then a Find that finds nothing is not believed, and a person's
	// `headrace steps resolve --again` is refused. Default: a minute.
	FindAfter time.Duration
	// Timeout bounds one call, and one Find. Default: 10 s.
	Timeout time.Duration
	// Memo is how long a result is shared: for that time the steps of other messages with the
	// same System, Name and Input get it, and make no call. A step that asks meanwhile waits,
	// or its message is postponed. It is for calls that only cost money, as those of a language
	// model: with Retry, a KeyWindow of Forever and an Input, which names all that the answer
	// depends on: the model, the prompt, the tenant, and the version of T. "headrace steps
	// erase" of one of the messages removes it; others keep the result that they have. Default:
	// nothing is shared.
	Memo time.Duration

	item    string
	hasItem bool
	input   any
}

// Of returns the step for one of several things, as a line of an order: item becomes part
// of its name. It must be the same in each run of the message, and has at most 128 bytes.
func (s Step[T]) Of(item string) Step[T] {
	s.item, s.hasItem = item, true
	return s
}

// Input returns the step with what its call depends on. If a later run has another input,
// a recorded result is not of this call: Do returns ErrInput, and an open step is parked.
// v is compared by a hash of its JSON, whose numbers and order of fields do not matter. A
// nil v is as none.
func (s Step[T]) Input(v any) Step[T] {
	s.input = v
	return s
}

// Do makes the call f and records its result, or returns what is recorded from an earlier
// run. It is for the work of consumer.HandleLeased, with the context that the handler was
// given, and a step may be done once in a run. Several steps may be done at once.
//
// f is called with a context that ends after Timeout; pass it on. The outcome of an error
// of f is unknown unless it is marked: see Refused, NotSent, Exists and HTTP. Do returns the
// error of f, with the name of the step, so that the handler can return it. Where nothing more can be done without a
// person it returns a ParkedError, and where the handler must run later an error of
// retry.Postpone; return these too. A step that was skipped returns the zero value and no
// error.
//
// Do blocks until f has returned, or has not although its context has ended some seconds
// ago; a result that comes later is recorded.
func (s Step[T]) Do(ctx context.Context, f func(ctx context.Context, c *Call) (T, error)) (result T, err error) {
	session := from(ctx)
	if session == nil {
		return result, fmt.Errorf("step %s: %w", s.Name, ErrNotLeased)
	}
	r, err := s.request(f)
	if err != nil {
		return result, err
	}
	b, err := session.Do(ctx, r)
	if err != nil || b == nil {
		return result, err
	}
	if !r.HasResult {
		return result, nil
	}
	if result, err = decode[T](b); err != nil {
		return result, fmt.Errorf("step %s: %w: let the type read it too, or %s; under a new name the step would call again", r.Step(), err, otherResult)
	}
	return result, nil
}

// request is the step with its functions, whose results are JSON.
func (s Step[T]) request(f func(context.Context, *Call) (T, error)) (Request, error) {
	spec, err := s.Declare()
	if err != nil {
		return Request{}, err
	}
	r := Request{Spec: spec, Call: func(ctx context.Context, c *Call) (Answer, error) {
		v, err := f(ctx, c)
		if err != nil {
			return Answer{}, err
		}
		return answer(v), nil
	}}
	if s.hasItem {
		if err := checkText("Of", s.item); err != nil {
			return Request{}, fmt.Errorf("ledger.Step %s: %w", s.Name, err)
		}
		r.Item = s.item
	}
	if s.Find != nil {
		r.Find = func(ctx context.Context, c *Call) (Answer, bool, error) {
			v, found, err := s.Find(ctx, c)
			if err != nil || !found {
				return Answer{}, false, err
			}
			return answer(v), true, nil
		}
	}
	if s.input != nil {
		if r.InputHash, err = hash(s.input); err != nil {
			return Request{}, fmt.Errorf("ledger.Step %s: Input: %w", s.Name, err)
		}
	}
	if s.Memo > 0 && r.InputHash == "" {
		return Request{}, fmt.Errorf("ledger.Step %s: %w", s.Name, ErrNoInput)
	}
	return r, nil
}

// answer encodes a result. One that cannot be kept has no JSON, and says why: the call
// has happened.
func answer(v any) Answer {
	b, err := json.Marshal(v)
	switch {
	case err != nil:
		return Answer{Unfit: "it has no JSON: " + err.Error()}
	case len(b) > MaxResult:
		return Answer{Unfit: fmt.Sprintf("its JSON has %d bytes, more than %d", len(b), MaxResult)}
	}
	return Answer{Result: b}
}

// hash is the hash of v's JSON in its canonical form.
func hash(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	canonical, ok := jsontext.AppendCanonical(nil, b)
	if !ok {
		return "", errors.New("its JSON has no canonical form: it is nested too deeply, or an object has two members of one name")
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:16]), nil
}
