package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/jsontext"
	"github.com/headrace/headrace/store/txn"
)

// Errors of signals.
var (
	// ErrNoSignal matches the error of Await when no signal came in time, and of Send when
	// it comes too late. The error of Await is permanent: a handler that can go on without
	// the signal asks for it with errors.Is.
	ErrNoSignal = errors.New("no signal came in time")
	// ErrUnknown matches the error of Send for a message that is not known, or is done, or
	// was given up.
	ErrUnknown = errors.New("no such message waits")
)

// Signal declares something that a message waits for, which a person or another system
// sends: an approval, a callback. Make it a variable of your package, and name it in
// consumer.Steps of its handler, beside its steps. It is a value: Of returns a
// changed copy.
type Signal[T any] struct {
	// Name identifies the signal within its message. Required; no step or other signal of
	// the handler has it. At most 128 bytes without a slash.
	Name string
	// Timeout is how long a message waits, from the first Await. Required, from a second to
	// 30 days.
	Timeout time.Duration

	item    string
	hasItem bool
}

// The least and longest Signal.Timeout.
const (
	leastWait   = time.Second
	longestWait = 30 * 24 * time.Hour
)

// Of returns the signal for one of several things, as Step.Of does.
func (s Signal[T]) Of(item string) Signal[T] {
	s.item, s.hasItem = item, true
	return s
}

// Declare returns the signal's declaration.
func (s Signal[T]) Declare() (Spec, error) {
	spec := Spec{Name: s.Name, Timeout: s.Timeout, HasResult: true, Signal: true}
	err := checkName("Name", s.Name)
	if err == nil && (s.Timeout < leastWait || s.Timeout > longestWait) {
		err = fmt.Errorf("the Timeout is %s: say how long a message waits, from %s to %s", s.Timeout, leastWait, longestWait)
	}
	if err == nil {
		err = encode.CheckJSON(reflect.TypeFor[T]())
	}
	if err != nil {
		return Spec{}, fmt.Errorf("ledger.Signal %s: %w", s.Name, err)
	}
	return spec, nil
}

func (s Signal[T]) request() (Request, error) {
	spec, err := s.Declare()
	if err == nil && s.hasItem {
		if err = checkText("Of", s.item); err != nil {
			err = fmt.Errorf("ledger.Signal %s: %w", s.Name, err)
		}
	}
	return Request{Spec: spec, Item: s.item}, err
}

// Await returns what was sent, also if it was sent before. Otherwise it returns an error of
// retry.Postpone at once: return it. The message then waits in the database, without an
// attempt and without a process, and runs again when the signal is sent, or when Timeout
// is over. Await then returns an error that matches ErrNoSignal, in this run and in each
// later one. It is for the work of consumer.HandleLeased, as Step.Do is.
func (s Signal[T]) Await(ctx context.Context) (value T, err error) {
	session := from(ctx)
	if session == nil {
		return value, fmt.Errorf("signal %s: %w", s.Name, ErrNotLeased)
	}
	r, err := s.request()
	if err != nil {
		return value, err
	}
	b, err := session.Await(ctx, r)
	if err != nil {
		return value, err
	}
	if value, err = decode[T](b); err != nil {
		return value, fmt.Errorf("signal %s: %w: let the type read it too, or %s", r.Step(), err, otherResult)
	}
	return value, nil
}

// Send sends the signal to the message id, which becomes due in the same commit. It may
// come before the message's Await. The same value again is no error, so a sender may
// repeat a Send whose answer was lost; another value is an error that matches ErrInput,
// one after Timeout matches ErrNoSignal, and one for a message that is not known, done
// or discarded matches ErrUnknown: a callback may be faster than the message. Package ledger/resolve has the Sender.
//
// Send takes a signal that the message's handler does not declare: what handlers declare is
// known in their processes alone, and a newer build may know it. The message waits for such a
// build and is then parked, as with a step that no process declares. "headrace steps send",
// where a name is typed by hand, takes only what the message waits for now.
//
// A message's key is no secret: check who sends.
func (s Signal[T]) Send(ctx context.Context, to Sender, id inbox.ID, value T) error {
	return s.send(ctx, to, Sent{ID: id}, value)
}

// EarlyKept is how long SendEarly's signal waits for its message.
const EarlyKept = 30 * 24 * time.Hour

// SendEarly is Send, also to a message that is not known yet: its Await then has the value. It is
// for a sender that sends once. A message that has not come after EarlyKept does not get it, and a
// wrong scope or key is no error: prefer Send where the sender tries again.
func (s Signal[T]) SendEarly(ctx context.Context, to Sender, id inbox.ID, value T) error {
	return s.send(ctx, to, Sent{ID: id, Early: true}, value)
}

func (s Signal[T]) send(ctx context.Context, to Sender, sent Sent, value T) error {
	r, err := s.request()
	if err != nil {
		return err
	}
	if sent.Value, err = json.Marshal(value); err != nil {
		return fmt.Errorf("signal %s: %w", s.Name, err)
	}
	sent.Step = r.Step()
	return to.Send(ctx, sent)
}

// Sender sends signals.
type Sender interface {
	// Send sends one; see Signal.Send.
	Send(ctx context.Context, s Sent) error
}

// Sent is a signal to be sent.
type Sent struct {
	// ID is the message, Step the whole name of the signal, with its item; Value is JSON, of
	// at most MaxResult bytes.
	ID    inbox.ID `json:"id"`
	Step  string   `json:"step"`
	Value []byte   `json:"value"`
	// Awaited takes it only if the message waits for it. Early takes it also for a message
	// that is not known yet (Signal.SendEarly).
	Awaited bool `json:"awaited,omitempty"`
	Early   bool `json:"early,omitempty"`
	// By and Reason say who sends it, and why, and are in the audit; may be "".
	By     string `json:"-"`
	Reason string `json:"-"`
}

// Same reports whether a recorded value is the same JSON, whose order of fields does not
// matter.
func (s Sent) Same(recorded []byte) bool {
	a, okA := jsontext.AppendCanonical(nil, s.Value)
	b, okB := jsontext.AppendCanonical(nil, recorded)
	return okA && okB && bytes.Equal(a, b)
}

// Signals keeps the rows of signals. Drivers implement it.
type Signals interface {
	// Await records in t that the message waits for r's signal for timeout from now on,
	// unless it has a row that says otherwise, and reports whether it did.
	Await(ctx context.Context, t *txn.Txn, r Row, timeout time.Duration) (bool, error)
	// Expire records in t that no signal came, if the message still waits, and reports
	// whether it did.
	Expire(ctx context.Context, t *txn.Txn, r Row) (bool, error)
	// Waits reports whether the message waits for the signal, as q sees it.
	Waits(ctx context.Context, q headrace.DBTX, id inbox.ID, step string) (bool, error)
	// Lock locks the message until t ends, and returns its state, "" if it is not known, and
	// its row of the backlog, 0 if it has none.
	Lock(ctx context.Context, t *txn.Txn, id inbox.ID) (state inbox.State, row int64, err error)
	// Send records in t that the signal of r, with its Result, By and Reason, was sent, if
	// the message waits for it or has no row of it, and reports whether it did.
	Send(ctx context.Context, t *txn.Txn, r Row) (bool, error)
	// SendEarly records in t that the signal of r was sent to a message that is not known yet,
	// unless it has a row of it, and reports whether it did. After keep it may be forgotten, if
	// the message has not come.
	SendEarly(ctx context.Context, t *txn.Txn, r Row, keep time.Duration) (bool, error)
	// Due makes a delayed row of the backlog due in t, and ends its postponement.
	Due(ctx context.Context, t *txn.Txn, row int64) error
}
