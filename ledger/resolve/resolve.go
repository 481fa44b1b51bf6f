package resolve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Errors of an Admin.
var (
	// ErrInvalid matches the error of an invalid request; nothing was changed.
	ErrInvalid = errors.New("invalid request")
	// ErrNotFound matches the error for a step that is not recorded.
	ErrNotFound = errors.New("no such step")
	// ErrRefused matches the error of a resolution that the state of the step does not
	// allow. Its text says why, and what may be done.
	ErrRefused = errors.New("not now")
)

// Decision is what a person decides about a step.
type Decision string

// The decisions.
const (
	// Done: it was carried out, and counts for whatever Input it has then. Of a step that is
	// ledger.Doubled, without an id and a result, it says that the second call was undone.
	Done Decision = "done"
	// Again: nothing was done. It is called again with the same idempotency key, whatever its
	// Input is then.
	Again Decision = "again"
	// Anew: nothing was done. It is called again with another key, for systems that keep
	// an error under the old one.
	Anew Decision = "anew"
)

// Resolution is a person's decision on a step.
type Resolution struct {
	// ID is the message, Step the whole name of the step, Decision what became of it.
	ID       inbox.ID `json:"id"`
	Step     string   `json:"step"`
	Decision Decision `json:"decision"`
	// ExternalID and Result are of Done: what it made, and its result as JSON. A step
	// that has a result needs it, or the next run comes back to this person. It may be
	// given later.
	ExternalID string `json:"external_id,omitempty"`
	Result     []byte `json:"result,omitempty"`
	// By and Reason go into the audit trail, and both are required.
	By     string `json:"-"`
	Reason string `json:"-"`
	// KeepOpen leaves the message's dead letter open.
	KeepOpen bool `json:"keep_open,omitempty"`
	// Force decides on a step that is done, and on one whose call the system may still work
	// on, by the step's Timeout and FindAfter when it was made. It does not have a message run that
	// is done or discarded: only Done is allowed there.
	Force bool `json:"force,omitempty"`
}

// Outcome says what a resolution did.
type Outcome struct {
	// Step is the row as it is now.
	Step ledger.Row
	// Message is the state of the message before it.
	Message inbox.State
	// LetterID is the dead letter of the message; 0 if it has none that is open. Redriven
	// says that it was redriven, and Waits names another step that needs a person; "" if
	// there is none.
	LetterID int64
	Redriven bool
	Waits    string
}

// Admin decides on steps. It is safe for concurrent use, also by several processes.
type Admin struct{ st store.Store }

// New returns the Admin of a store.
func New(st store.Store) *Admin { return &Admin{st} }

// tries bounds how often a resolution runs that loses against other transactions.
const tries = 5

// Resolve records the decision, and redrives the message's dead letter. It blocks until
// that is committed or ctx ends. If COMMIT has no answer, the error matches
// txn.ErrCommitUnknown: look at the step.
func (a *Admin) Resolve(ctx context.Context, r Resolution) (o Outcome, err error) {
	if err := r.Check(); err != nil {
		return Outcome{}, err
	}
	for range tries {
		o = Outcome{}
		err = store.Transact(ctx, a.st, func(t *txn.Txn) error { return a.resolve(ctx, t, r, &o) })
		if !txn.Classify(err).Conflict() || errors.Is(err, txn.ErrCommitUnknown) {
			break
		}
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("resolve: %w", err)
	}
	return o, nil
}

// Check returns an error that matches ErrInvalid if r is none, whatever the state of its step.
func (r *Resolution) Check() error {
	if err := r.wrong(); err != nil {
		return fmt.Errorf("resolve: %w: %w", ErrInvalid, err)
	}
	return nil
}

func (r *Resolution) wrong() error {
	switch {
	case r.ID.Scope == "" || r.ID.Key == "" || r.Step == "":
		return errors.New("it names no step: scope, key and step are required")
	case r.Decision != Done && r.Decision != Again && r.Decision != Anew:
		return fmt.Errorf("the decision is %q: use done, again or anew", r.Decision)
	case r.Decision != Done && (r.ExternalID != "" || r.Result != nil):
		return errors.New("an external id and a result are of a step that was done")
	case r.Result != nil && !json.Valid(r.Result):
		return errors.New("the result is no JSON")
	case len(r.Result) > ledger.MaxResult:
		return fmt.Errorf("the result has %d bytes, more than %d", len(r.Result), ledger.MaxResult)
	case strings.TrimSpace(r.By) == "":
		return errors.New("the field By is empty: say who decides")
	case strings.TrimSpace(r.Reason) == "":
		return errors.New("no Reason is given: say how you know")
	}
	return nil
}

func (a *Admin) resolve(ctx context.Context, t *txn.Txn, r Resolution, o *Outcome) error {
	message, _, err := a.st.Operations().Signals.Lock(ctx, t, r.ID)
	if err != nil {
		return err
	}
	admin := a.st.Operations().StepAdmin
	row, found, err := admin.Lock(ctx, t, r.ID, r.Step)
	switch {
	case err != nil:
		return err
	case !found:
		if _, err := a.Step(ctx, r.ID, r.Step); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s has begun just now", ErrNotFound, r.Step)
	}
	if err := r.allowed(&row, message); err != nil {
		return err
	}
	o.Message = message
	was := row
	undone := r.undoes(&row)
	if undone {
		row.By, row.Reason = r.By, r.Reason
	} else {
		r.apply(&row)
	}
	if err := errors.Join(admin.Resolve(ctx, t, row), a.record(ctx, t, r, was)); err != nil {
		return err
	}
	row.Size = len(row.Result)
	if o.Step = row; row.Result == nil {
		o.Step.Size = -1
	}
	if undone { // the message goes on as it did
		return nil
	}
	return a.redrive(ctx, t, r, o)
}

// Step returns the row of a step. The error matches ErrNotFound if it is not recorded, and names those
// that are: it may be under a former name.
func (a *Admin) Step(ctx context.Context, id inbox.ID, step string) (ledger.Row, error) {
	rows, err := a.st.Operations().Steps.List(ctx, id)
	if err != nil {
		return ledger.Row{}, err
	}
	names := make([]string, 0, len(rows))
	for _, row := range rows {
		if row.Step == step {
			return row, nil
		}
		if len(names) < 20 {
			names = append(names, strconv.Quote(row.Step))
		}
	}
	err = fmt.Errorf("%w: %s of %s %s", ErrNotFound, step, id.Scope, id.Key)
	if len(names) > 0 {
		err = fmt.Errorf("%w: its steps are %s", err, strings.Join(names, ", "))
	}
	return ledger.Row{}, err
}

// allowed returns an error that matches ErrRefused if the state of the step, or that of its
// message, does not allow r.
func (r *Resolution) allowed(row *ledger.Row, message inbox.State) error {
	switch {
	case r.undoes(row):
		return nil
	case r.Decision != Done && message.Ended():
		return fmt.Errorf("%w: the message is %s, and never runs again: if the call is missing, make it by hand, and record it with --done --external-id ID", ErrRefused, message)
	case row.State == ledger.Awaiting:
		return fmt.Errorf("%w: the message waits for a signal: send it, with headrace steps send", ErrRefused)
	case r.Decision == Done && row.Size < 0 && r.Result != nil: // nothing is overwritten
		return nil
	case r.Decision == Done && !message.Ended() && row.Size < 0 && (row.System == "" || row.LacksResult()):
		return fmt.Errorf("%w: its result is missing: give it, with --done --result FILE", ErrRefused)
	case r.Decision == Done && row.State == ledger.Done && row.Size >= 0 && r.Result == nil && row.ExternalID != "" && r.ExternalID != "" && r.ExternalID != row.ExternalID:
		return fmt.Errorf("%w: the recorded result is that of external id %q: give that of %q too, with --result FILE", ErrRefused, row.ExternalID, r.ExternalID)
	case r.Force:
		return nil
	case row.State == ledger.Done:
		return fmt.Errorf("%w: the step is done (via %s, external id %q): what is recorded would be overwritten; force it if that is wrong", ErrRefused, row.Via, row.ExternalID)
	case r.Decision != Done && row.LacksResult():
		return fmt.Errorf("%w: the step is done, and only its result is missing: give it, or force another call", ErrRefused)
	case r.Decision != Done && row.Unsettled > 0:
		return fmt.Errorf("%w: the latest call began %s ago, and by its Timeout and FindAfter %s may still work on it for %s: wait, or force it if you know better",
			ErrRefused, row.Idle.Round(time.Second), row.System, row.Unsettled.Round(time.Second))
	}
	return nil
}

// undoes reports whether r says only that the second call of a doubled step was undone.
func (r *Resolution) undoes(row *ledger.Row) bool {
	return r.Decision == Done && r.ExternalID == "" && r.Result == nil && !r.Force && row.State == ledger.Done && row.OtherID != "" && row.By == ""
}

// apply writes the decision into the row.
func (r *Resolution) apply(row *ledger.Row) {
	row.By, row.Reason, row.Error = r.By, r.Reason, ""
	if r.Decision == Done {
		row.State, row.Via, row.InputHash = ledger.Done, ledger.ViaPerson, "" // of whatever input it has now
		if r.ExternalID != "" {
			row.ExternalID = r.ExternalID
		}
		if r.Result != nil {
			row.Result = r.Result
		}
		return
	}
	row.State, row.Via, row.ExternalID, row.Result = ledger.Failed, "", "", nil
	if r.Decision == Anew {
		row.Generation++
	}
}

// redrive puts the message's dead letter into the backlog, in t, unless another step needs
// a person.
func (a *Admin) redrive(ctx context.Context, t *txn.Txn, r Resolution, o *Outcome) error {
	l, found, err := a.letter(ctx, r.ID)
	if err != nil || !found {
		return err
	}
	letter := l.LetterID
	o.LetterID = letter
	rows := []dlq.Audit{{LetterID: letter, Action: "resolve", By: r.By, Reason: fmt.Sprintf("step %s %s: %s", r.Step, r.Decision, r.Reason)}}
	others, err := a.st.Operations().Steps.List(ctx, r.ID)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.Step != r.Step && other.State == ledger.Parked {
			o.Waits = other.Step
		}
	}
	if !r.KeepOpen && o.Waits == "" {
		if o.Redriven, err = a.put(ctx, t, letter); err != nil {
			return err
		}
		if o.Redriven {
			rows = append(rows, dlq.Audit{LetterID: letter, Action: "redrive", By: r.By, Reason: r.Reason})
		}
	}
	return a.st.Letters().Record(ctx, t, rows)
}

// letter returns the open letter of the message.
func (a *Admin) letter(ctx context.Context, id inbox.ID) (letter dlq.Letter, found bool, err error) {
	letters, err := a.st.Letters().List(ctx, dlq.Filter{Key: id.Key}, 0, 1000)
	for _, l := range letters {
		if l.ID() == id && l.Class != dlq.Conflict {
			return l, true, err
		}
	}
	return dlq.Letter{}, false, err
}

// put redrives the letter in t. It reports false if another person decides on it now.
func (a *Admin) put(ctx context.Context, t *txn.Txn, letter int64) (bool, error) {
	taken, err := a.st.Letters().Take(ctx, t, dlq.Filter{IDs: []int64{letter}}, dlq.Redriven, 0, 1)
	if err != nil || len(taken) == 0 {
		return false, err
	}
	moved, err := a.st.Inbox().Transition(ctx, t, []inbox.ID{taken[0].ID()}, inbox.Dead, inbox.Waiting)
	switch {
	case err != nil:
		return false, err
	case len(moved) == 0:
		return false, fmt.Errorf("%w: the message is not dead any more", ErrRefused)
	}
	return true, a.st.Backlog().Put(ctx, t, redrive.Items(taken))
}

// record audits the decision: the row keeps only the latest one.
func (a *Admin) record(ctx context.Context, t *txn.Txn, r Resolution, was ledger.Row) error {
	detail := fmt.Sprintf("step %s of %s: %s, external id %q; it was %s, external id %q", r.Step, r.ID.Scope, r.Decision, r.ExternalID, was.State, was.ExternalID)
	return a.audit(ctx, t, r.ID, "resolve", r.By, r.Reason, detail)
}

func (a *Admin) audit(ctx context.Context, t *txn.Txn, id inbox.ID, action, by, reason, detail string) error {
	return a.st.Operations().Audit.Record(ctx, t, audit.Row{Kind: audit.Message, Subject: id.Key, Action: action, By: by, Reason: reason, Detail: detail})
}

// Erase removes the results of the steps of a message that is done or discarded, its answer, and
// the shared results (ledger.Step.Memo) that its steps have used, and returns how many. That the
// steps were done stays recorded, with the ids of what they made, so that nothing is repeated.
// By and reason go into the audit trail, and both are required.
func (a *Admin) Erase(ctx context.Context, id inbox.ID, by, reason string) (n int, err error) {
	if strings.TrimSpace(by) == "" || strings.TrimSpace(reason) == "" {
		return 0, fmt.Errorf("erase: %w: say who does it, and why", ErrInvalid)
	}
	err = store.Transact(ctx, a.st, func(t *txn.Txn) error {
		if n, err = a.st.Operations().StepAdmin.Erase(ctx, t, id); err != nil || n == 0 {
			return err
		}
		return a.audit(ctx, t, id, "erase", by, reason, fmt.Sprintf("%d results of steps of %s", n, id.Scope))
	})
	return n, err
}
