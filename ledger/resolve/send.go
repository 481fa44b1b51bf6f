package resolve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Send sends a signal, and makes its message due in the same commit. It implements
// ledger.Sender: see ledger.Signal.Send for its errors. It blocks until that is committed or
// ctx ends. If COMMIT has no answer, the error matches txn.ErrCommitUnknown: send it again.
func (a *Admin) Send(ctx context.Context, s ledger.Sent) (err error) {
	switch {
	case s.ID.Scope == "" || s.ID.Key == "" || s.Step == "":
		err = errors.New("it names no signal: scope, key and name are required")
	case !json.Valid(s.Value):
		err = errors.New("the value is no JSON")
	case len(s.Value) > ledger.MaxResult:
		err = fmt.Errorf("the value has %d bytes, more than %d", len(s.Value), ledger.MaxResult)
	}
	if err != nil {
		return fmt.Errorf("send a signal: %w: %w", ErrInvalid, err)
	}
	for range tries {
		err = store.Transact(ctx, a.st, func(t *txn.Txn) error { return a.send(ctx, t, s) })
		if !errors.Is(err, errAgain) && (!txn.Classify(err).Conflict() || errors.Is(err, txn.ErrCommitUnknown)) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("send signal %s: %w", s.Step, err)
	}
	if consumer, _, ok := strings.Cut(s.ID.Scope, "/"); ok {
		a.st.Backlog().Signals.Wake(consumer) // of this process; others look each second
	}
	return nil
}

// errAgain says that another transaction was faster.
var errAgain = errors.New("another transaction changes the message")

func (a *Admin) send(ctx context.Context, t *txn.Txn, s ledger.Sent) error {
	signals := a.st.Operations().Signals
	state, row, err := signals.Lock(ctx, t, s.ID)
	if err != nil {
		return err
	}
	if state == inbox.Waiting && row == 0 { // it was redriven after the first look
		return errAgain
	}
	known, found, err := a.st.Operations().StepAdmin.Lock(ctx, t, s.ID, s.Step)
	if err != nil {
		return err
	}
	switch {
	case found && known.System != "":
		return fmt.Errorf("%w: %s is a step of the message, and no signal", ErrRefused, s.Step)
	case found && known.State == ledger.Done && known.Size < 0:
		return fmt.Errorf("%w: it was sent before, and its value was erased", ErrRefused)
	case found && known.State == ledger.Done && s.Same(known.Result):
		return nil
	case found && known.State == ledger.Done:
		return fmt.Errorf("%w: another value was sent before", ledger.ErrInput)
	case found && (known.State == ledger.Expired || known.State == ledger.Awaiting && known.Age >= 0):
		return ledger.ErrNoSignal
	}
	if err := unknown(s, state, found && known.State == ledger.Awaiting); err != nil {
		return err
	}
	r := ledger.Row{ID: s.ID, Step: s.Step, Result: s.Value, By: s.By, Reason: s.Reason}
	var sent bool
	if state == "" {
		sent, err = signals.SendEarly(ctx, t, r, ledger.EarlyKept)
	} else {
		sent, err = signals.Send(ctx, t, r)
	}
	switch {
	case err != nil:
		return err
	case !sent:
		return errAgain
	}
	if s.By != "" {
		if err := a.audit(ctx, t, s.ID, "send", s.By, s.Reason, fmt.Sprintf("signal %s of %s", s.Step, s.ID.Scope)); err != nil {
			return err
		}
	}
	if row == 0 {
		return nil
	}
	return signals.Due(ctx, t, row)
}

// unknown returns an error if no message in this state takes the signal.
func unknown(s ledger.Sent, state inbox.State, awaited bool) error {
	switch {
	case state == "" && s.Early:
		return nil
	case state == "":
		return fmt.Errorf("%w: the key %s is not known in %s", ledger.ErrUnknown, s.ID.Key, s.ID.Scope)
	case state.Ended():
		return fmt.Errorf("%w: the message is %s", ledger.ErrUnknown, state)
	case s.Awaited && !awaited:
		return fmt.Errorf("%w: the message does not wait for it now", ErrRefused)
	}
	return nil
}

// ByExternalID returns the message whose step made this in a system (Call.SetID): for a
// callback that knows nothing else. The error matches ErrNotFound if there is none, and
// ErrRefused if there are several.
func (a *Admin) ByExternalID(ctx context.Context, system, externalID string) (inbox.ID, error) {
	rows, err := a.st.Operations().StepAdmin.Find(ctx, system, externalID, 2)
	if err != nil {
		return inbox.ID{}, err
	}
	switch {
	case len(rows) == 0:
		return inbox.ID{}, fmt.Errorf("%w: none made %s in %s", ErrNotFound, externalID, system)
	case len(rows) > 1 && rows[0].ID != rows[1].ID:
		return inbox.ID{}, fmt.Errorf("%w: the steps of several messages made %s in %s", ErrRefused, externalID, system)
	}
	return rows[0].ID, nil
}
