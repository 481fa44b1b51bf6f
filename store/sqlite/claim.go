package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/internal/sqlstore"
	"github.com/headrace/headrace/store/txn"
)

// inboxStore implements inbox.Store.
type inboxStore struct {
	*sqlstore.Inbox
	sql struct{ Claim, ClaimLost string }
}

// Claim implements inbox.Store. No other transaction writes while t is open. So no claim
// is ever inbox.Busy, and the next statement finds the row of a lost claim.
func (s *inboxStore) Claim(ctx context.Context, t *txn.Txn, r inbox.ClaimRequest) (answers []inbox.Claimed, err error) {
	defer sqlrun.Wrap("claim", &err)
	if len(r.Claims) == 0 {
		return nil, nil
	}
	for _, c := range r.Claims {
		if err := sqlrun.Identity(c.Scope, c.Key, c.Fingerprint); err != nil {
			return nil, err
		}
	}
	state := inbox.Done
	if r.Waiting {
		state = inbox.Waiting
	}
	type claim = inbox.Claim
	args := s.Many(
		sqlrun.Texts(r.Claims, func(c *claim) string { return c.Scope }),
		sqlrun.Texts(r.Claims, func(c *claim) string { return c.Key }),
		sqlrun.Texts(r.Claims, func(c *claim) string { return c.Fingerprint }))
	won, err := sqlrun.Collect(ctx, t, s.sql.Claim, append(args, string(state)), idFields)
	if err != nil {
		return nil, err
	}
	answers = make([]inbox.Claimed, len(r.Claims)) // all Won
	if len(won) == len(r.Claims) {
		return answers, nil
	}
	return answers, s.lost(ctx, t, r.Claims, won, answers)
}

// lost fills in the answers for the claims that are not among won.
func (s *inboxStore) lost(ctx context.Context, t *txn.Txn, claims []inbox.Claim, won []inbox.ID, answers []inbox.Claimed) error {
	at := make(map[inbox.ID]int, len(claims)) // those that are lost
	for n, c := range claims {
		at[c.ID] = n
	}
	for _, id := range won {
		delete(at, id)
	}
	lost := slices.Collect(maps.Keys(at))
	entries, err := sqlrun.Collect(ctx, t, s.sql.ClaimLost, s.Many(sqlrun.IDs(lost)...), sqlstore.EntryFields)
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

func idFields(id *inbox.ID) []any { return []any{&id.Scope, &id.Key} }
