package resolve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// BeginSuspect begins ledger.SuspectMode for messages from before until, or moves its time,
// with an audit row. Steps that begin after it returns notice it, in every process. An
// error that matches ErrInvalid names what is missing.
func (a *Admin) BeginSuspect(ctx context.Context, until time.Time, by, reason string) error {
	if until.IsZero() {
		return fmt.Errorf("begin suspect mode: %w: it needs the time until which rows may be lost", ErrInvalid)
	}
	row := audit.Row{Action: "begin", By: by, Reason: reason, Detail: "until " + until.UTC().Format(time.RFC3339)}
	return a.suspect(ctx, "begin suspect mode", row, func(t *txn.Txn) error {
		return a.st.Operations().Suspect.Begin(ctx, t, ledger.SuspectMode{Until: until, By: by, Reason: reason})
	})
}

// EndSuspect ends the mode, with an audit row. The error matches ErrNotFound if it is off.
func (a *Admin) EndSuspect(ctx context.Context, by, reason string) error {
	row := audit.Row{Action: "end", By: by, Reason: reason}
	return a.suspect(ctx, "end suspect mode", row, func(t *txn.Txn) error {
		was, err := a.st.Operations().Suspect.End(ctx, t)
		if err == nil && !was {
			err = ErrNotFound
		}
		return err
	})
}

func (a *Admin) suspect(ctx context.Context, what string, row audit.Row, f func(t *txn.Txn) error) error {
	if strings.TrimSpace(row.By) == "" || strings.TrimSpace(row.Reason) == "" {
		return fmt.Errorf("%s: %w: say who does it, and why", what, ErrInvalid)
	}
	row.Kind = audit.Suspect
	err := store.Transact(ctx, a.st, func(t *txn.Txn) error {
		if err := f(t); err != nil {
			return err
		}
		return a.st.Operations().Audit.Record(ctx, t, row)
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("%s: %w: it is off", what, ErrNotFound)
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
