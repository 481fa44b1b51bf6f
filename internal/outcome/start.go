package outcome

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Start puts one message into the backlog in t, unless its key has a row in the inbox, and
// returns the result of the claim. Other than Intake it writes no letter and counts nothing:
// the caller of a message that loses is there to be told. After inbox.Lost and inbox.Busy
// there is nothing to commit.
func Start(ctx context.Context, t *txn.Txn, st Store, item backlog.Item, limits Limits) (inbox.Claimed, error) {
	claim := inbox.Claim{ID: inbox.ID{Scope: item.Delivery.Scope, Key: item.Delivery.Key}, Fingerprint: item.Delivery.Fingerprint}
	request := inbox.ClaimRequest{Claims: []inbox.Claim{claim}, LockTimeout: limits.Lock, Limits: limits.Limits, Waiting: true}
	claimed, err := st.Inbox().Claim(ctx, t, request)
	if err != nil {
		return inbox.Claimed{}, fmt.Errorf("claim: %w", err)
	}
	if claimed[0].Result == inbox.Won {
		if err := st.Backlog().Put(ctx, t, []backlog.Item{item}); err != nil {
			return inbox.Claimed{}, fmt.Errorf("start: %w", err)
		}
	}
	return claimed[0], nil
}
