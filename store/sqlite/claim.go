package sqlite

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Claim implements inbox.Store. Nobody else writes while t is open, so no claim is
// ever inbox.Busy, and what a lost claim met is there for the statement after.
func (i *inboxStore) Claim(ctx context.Context, t *txn.Txn, r inbox.ClaimRequest) ([]inbox.Claimed, error) {
	if len(r.Claims) == 0 {
		return nil, nil
	}
	answers, err := i.claimAll(ctx, t, r.Claims)
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	return answers, nil
}

func (i *inboxStore) claimAll(ctx context.Context, t *txn.Txn, claims []inbox.Claim) ([]inbox.Claimed, error) {
	rows := make([][3]string, len(claims))
	for n, c := range claims {
		if err := identity(c.Scope, c.Key, c.Fingerprint); err != nil {
			return nil, err
		}
		rows[n] = [3]string{c.Scope, c.Key, c.Fingerprint}
	}
	all, err := list(rows)
	if err != nil {
		return nil, err
	}
	won, err := collect(ctx, t, i.claim, []any{all}, readID)
	if err != nil {
		return nil, err
	}
	answers := make([]inbox.Claimed, len(claims)) // all Won
	if len(won) == len(claims) {
		return answers, nil
	}
	return answers, i.lost(ctx, t, claims, won, answers)
}

// lost fills in the answers to the claims that are not among won.
func (i *inboxStore) lost(ctx context.Context, t *txn.Txn, claims []inbox.Claim, won []inbox.ID, answers []inbox.Claimed) error {
	isWon := make(map[inbox.ID]bool, len(won))
	for _, id := range won {
		isWon[id] = true
	}
	at := make(map[inbox.ID]int)
	var lost [][2]string
	for n, c := range claims {
		if !isWon[c.ID] {
			at[c.ID] = n
			lost = append(lost, [2]string{c.Scope, c.Key})
		}
	}
	keys, err := list(lost)
	if err != nil {
		return err
	}
	entries, err := collect(ctx, t, i.claimLost, []any{keys}, readEntry)
	if err != nil {
		return fmt.Errorf("look up lost keys: %w", err)
	}
	for _, e := range entries {
		answers[at[e.ID]] = inbox.Claimed{Result: inbox.Lost, Entry: e}
		delete(at, e.ID)
	}
	if len(at) > 0 {
		return fmt.Errorf("%d keys were neither won nor lost", len(at))
	}
	return nil
}
