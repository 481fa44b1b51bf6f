package intervene

import (
	"context"
	"errors"
	"strings"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
)

// Resolved is what a decision on a step did.
type Resolved struct {
	// Step is now in State, with a result of ResultBytes; -1 if it has none.
	Step        string       `json:"step"`
	State       ledger.State `json:"state"`
	ResultBytes int          `json:"result_bytes"`
	// Message is the state of the message before it. Its letter, Redriven and Waits are those of
	// resolve.Outcome.
	Message  inbox.State `json:"message_state"`
	LetterID int64       `json:"letter_id,omitempty"`
	Redriven bool        `json:"redriven"`
	Waits    string      `json:"waits_for_step,omitempty"`
}

// Sent says that the signal of that name was sent.
type Sent struct {
	Step string `json:"step"`
	Sent bool   `json:"sent"`
}

// Erased is how many results were removed; 0 also if the message has not ended.
type Erased struct {
	Done int `json:"erased"`
}

// Resolve records what a person says of a step: requests of kind ResolveKind. The error matches
// instance.ErrRefused if the state of the step does not allow it.
func (d *Admin) Resolve(ctx context.Context, q instance.Request, args resolve.Resolution) (Resolved, error) {
	if err := owns(q, args.ID); err != nil {
		return Resolved{}, err
	}
	args.By, args.Reason = q.By, q.Reason
	o, err := resolve.New(d.Store).Resolve(ctx, args)
	if err != nil {
		return Resolved{}, refused(err)
	}
	d.Store.Backlog().Signals.Wake(q.Consumer)
	return Resolved{o.Step.Step, o.Step.State, o.Step.Size, o.Message, o.LetterID, o.Redriven, o.Waits}, nil
}

// Send sends a signal: requests of kind SendKind. The error matches instance.ErrRefused if the
// message does not take it.
func (d *Admin) Send(ctx context.Context, q instance.Request, args ledger.Sent) (Sent, error) {
	if err := owns(q, args.ID); err != nil {
		return Sent{}, err
	}
	args.By, args.Reason = q.By, q.Reason
	return Sent{args.Step, true}, refused(resolve.New(d.Store).Send(ctx, args))
}

// Erase removes the results of a message's steps, and its answer: requests of kind EraseKind.
func (d *Admin) Erase(ctx context.Context, q instance.Request, id inbox.ID) (Erased, error) {
	if err := owns(q, id); err != nil {
		return Erased{}, err
	}
	n, err := resolve.New(d.Store).Erase(ctx, id, q.By, q.Reason)
	return Erased{n}, refused(err)
}

// owns refuses a message of another consumer than the one that is asked.
func owns(q instance.Request, id inbox.ID) error {
	if consumer, _, _ := strings.Cut(id.Scope, "/"); consumer != q.Consumer {
		return instance.Refuse("%s is no scope of consumer %s", id.Scope, q.Consumer)
	}
	return nil
}

// refused makes errors that say that nothing was changed a refusal with their text.
func refused(err error) error {
	for _, nothing := range []error{
		resolve.ErrInvalid, resolve.ErrNotFound, resolve.ErrRefused, ledger.ErrUnknown, ledger.ErrNoSignal, ledger.ErrInput,
	} {
		if errors.Is(err, nothing) {
			return instance.Refuse("%v", err)
		}
	}
	return err
}
