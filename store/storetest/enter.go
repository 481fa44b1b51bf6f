package storetest

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Enter writes the inbox row e in t, for tests that begin with a message in some state. It
// is an error if there is one.
func Enter(ctx context.Context, st inbox.Store, t *txn.Txn, e inbox.Entry) error {
	claimed, err := st.Claim(ctx, t, inbox.ClaimRequest{
		Claims: []inbox.Claim{{ID: e.ID, Fingerprint: e.Fingerprint}}, Waiting: e.State != inbox.Done,
	})
	switch {
	case err != nil:
		return err
	case claimed[0].Result != inbox.Won:
		return fmt.Errorf("%s/%s has a row already", e.Scope, e.Key)
	case e.Stale:
		return st.MarkStale(ctx, t, []inbox.ID{e.ID})
	case e.State == inbox.Done, e.State == inbox.Waiting:
		return nil
	}
	if _, err := st.Transition(ctx, t, []inbox.ID{e.ID}, inbox.Waiting, inbox.Dead); err != nil || e.State == inbox.Dead {
		return err
	}
	_, err = st.Transition(ctx, t, []inbox.ID{e.ID}, inbox.Dead, e.State)
	return err
}
