package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// errVanished says that a key was lost, again and again, to rows that were gone when
// they were looked at.
var errVanished = errors.New("the row that held the key vanished")

// maxVanished is how often a vanished row is claimed anew.
const maxVanished = 8

// Claim implements inbox.Store.
func (s *inboxStore) Claim(ctx context.Context, t *txn.Txn, r inbox.ClaimRequest) ([]inbox.Claimed, error) {
	c := &claiming{s: s, t: t, request: r, index: make(map[inbox.ID]int, len(r.Claims)), answers: make([]inbox.Claimed, len(r.Claims))}
	claims := slices.Clone(r.Claims)
	for i, claim := range claims {
		if err := identity(claim.Scope, claim.Key, claim.Fingerprint); err != nil {
			return nil, fmt.Errorf("claim: %w", err)
		}
		if _, twice := c.index[claim.ID]; twice {
			return nil, fmt.Errorf("claim: one message twice in a group of %d", len(claims))
		}
		c.index[claim.ID] = i
	}
	slices.SortFunc(claims, func(a, b inbox.Claim) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Key, b.Key))
	})
	for range maxVanished {
		vanished, err := c.round(ctx, claims)
		if err != nil {
			return nil, fmt.Errorf("claim: %w", err)
		}
		if len(vanished) == 0 {
			return c.answers, nil
		}
		claims = vanished
	}
	return nil, fmt.Errorf("claim: %w", errVanished)
}

// claiming is one call of Claim.
type claiming struct {
	s       *inboxStore
	t       *txn.Txn
	request inbox.ClaimRequest
	index   map[inbox.ID]int
	answers []inbox.Claimed
}

// round claims, and looks the lost keys up. It returns those whose row was gone by
// then: retention had deleted it, and they can be claimed anew.
func (c *claiming) round(ctx context.Context, claims []inbox.Claim) ([]inbox.Claim, error) {
	for _, claim := range claims {
		c.answers[c.index[claim.ID]].Result = inbox.Lost
	}
	if err := c.insert(ctx, claims); err != nil {
		return nil, err
	}
	var lost []inbox.Claim
	for _, claim := range claims {
		if c.answers[c.index[claim.ID]].Result == inbox.Lost {
			lost = append(lost, claim)
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	return c.lookUp(ctx, lost)
}

// insert tries the claims in one statement, with a bound on the wait where one is
// asked for, and one by one where that was exceeded.
func (c *claiming) insert(ctx context.Context, claims []inbox.Claim) error {
	if c.request.LockTimeout <= 0 {
		return c.statement(ctx, claims, 0)
	}
	if c.request.Unguarded {
		return c.statement(ctx, claims, c.request.LockTimeout)
	}
	ok, err := c.bounded(ctx, claims)
	if ok || err != nil {
		return err
	}
	// The settings of a claim that is rolled back go with it: once without keys.
	if err := c.statement(ctx, nil, 0); err != nil {
		return err
	}
	for i := range claims {
		ok, err := c.bounded(ctx, claims[i:i+1])
		if err != nil {
			return err
		}
		if !ok {
			c.answers[c.index[claims[i].ID]].Result = inbox.Busy
		}
	}
	return nil
}

// bounded is statement with the request's lock timeout, behind a savepoint. It
// reports false, with the transaction as it was, where the wait was too long.
func (c *claiming) bounded(ctx context.Context, claims []inbox.Claim) (bool, error) {
	if err := c.t.Savepoint(ctx); err != nil {
		return false, fmt.Errorf("savepoint: %w", err)
	}
	err := c.statement(ctx, claims, c.request.LockTimeout)
	busy := txn.Classify(err) == txn.LockTimeout
	switch {
	case busy:
		if err := c.t.RollbackTo(ctx); err != nil {
			return false, fmt.Errorf("back to the savepoint: %w", err)
		}
	case err != nil:
		return false, err
	}
	if err := c.t.Release(ctx); err != nil {
		return false, fmt.Errorf("release the savepoint: %w", err)
	}
	return !busy, nil
}

// statement runs the claim and notes what was won, and the transaction's id.
func (c *claiming) statement(ctx context.Context, claims []inbox.Claim, lockTimeout time.Duration) error {
	query := c.s.claim
	args := []any{
		column(claims, func(c *inbox.Claim) string { return c.Scope }),
		column(claims, func(c *inbox.Claim) string { return c.Key }),
		column(claims, func(c *inbox.Claim) string { return c.Fingerprint }),
		millis(c.request.IdleTimeout),
	}
	if lockTimeout > 0 {
		query = c.s.claimBounded
		args = append(args, millis(lockTimeout))
	}
	id, won, err := c.s.touch(ctx, c.t, query, args...)
	if err != nil {
		return err
	}
	c.t.SetID(id)
	for _, id := range won {
		c.answers[c.index[id]].Result = inbox.Won
	}
	return nil
}

// lookUp fills in the rows of lost keys, and returns the claims that have none.
func (c *claiming) lookUp(ctx context.Context, lost []inbox.Claim) ([]inbox.Claim, error) {
	entries, err := c.s.entries(ctx, c.s.plan.on(c.t.SQL()), c.s.claimLost,
		column(lost, func(c *inbox.Claim) string { return c.Scope }),
		column(lost, func(c *inbox.Claim) string { return c.Key }))
	if err != nil {
		return nil, fmt.Errorf("look up lost keys: %w", err)
	}
	found := make(map[inbox.ID]bool, len(entries))
	for _, e := range entries {
		c.answers[c.index[e.ID]].Entry = e
		found[e.ID] = true
	}
	return slices.DeleteFunc(lost, func(c inbox.Claim) bool { return found[c.ID] }), nil
}
