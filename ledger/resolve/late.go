package resolve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Arrived is for the engine: the result of a step was recorded after its run had ended. If the
// message is a dead letter of class parked meanwhile, and none of its steps needs a person any
// more, the letter is redriven. It blocks until that is committed or ctx ends. If COMMIT has no
// answer, the error matches txn.ErrCommitUnknown.
func (a *Admin) Arrived(ctx context.Context, id inbox.ID, step string) (err error) {
	redriven := false
	for range tries {
		err = store.Transact(ctx, a.st, func(t *txn.Txn) error {
			redriven, err = a.arrived(ctx, t, id, step)
			return err
		})
		if !txn.Classify(err).Conflict() || errors.Is(err, txn.ErrCommitUnknown) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("redrive after a late result: %w", err)
	}
	if consumer, _, ok := strings.Cut(id.Scope, "/"); ok && redriven {
		a.st.Backlog().Signals.Wake(consumer) // of this process; others look each second
	}
	return nil
}

func (a *Admin) arrived(ctx context.Context, t *txn.Txn, id inbox.ID, step string) (redriven bool, err error) {
	state, _, err := a.st.Operations().Signals.Lock(ctx, t, id) // waits for a run that ends
	if err != nil || state != inbox.Dead {
		return false, err
	}
	blocking, err := a.st.Operations().StepAdmin.Blocking(ctx, t, []inbox.ID{id})
	if err != nil || len(blocking) > 0 {
		return false, err
	}
	l, found, err := a.letter(ctx, id)
	if err != nil || !found || l.Class != dlq.Parked {
		return false, err
	}
	if redriven, err = a.put(ctx, t, l.LetterID); err != nil || !redriven {
		return false, err
	}
	return true, a.st.Letters().Record(ctx, t, []dlq.Audit{{
		LetterID: l.LetterID, Action: "redrive", By: "headrace", Reason: fmt.Sprintf("the result of step %s came after all", step),
	}})
}
