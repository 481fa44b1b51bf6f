package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lib/pq"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/internal/sqlstore"
	"github.com/headrace/headrace/store/txn"
)

// inboxStore implements inbox.Store.
type inboxStore struct {
	*sqlstore.Inbox
	lately share // lost claims
	oneRow bool  // its connections know the key oneRow of a context
	sql    struct{ Claim, ClaimBounded, ClaimOne, ClaimOneLost, ClaimLost string }
}

// errVanished says that a key was lost, again and again, to rows that were gone before
// they could be read.
var errVanished = errors.New("the row that held the key vanished")

// maxVanished is how often a claim of a vanished row is repeated.
const maxVanished = 8

// Claim implements inbox.Store.
func (s *inboxStore) Claim(ctx context.Context, t *txn.Txn, r inbox.ClaimRequest) (_ []inbox.Claimed, err error) {
	defer sqlrun.Wrap("claim", &err)
	c := &claiming{s: s, t: t, request: r, answers: make([]inbox.Claimed, len(r.Claims))}
	claims := make([]placed, len(r.Claims))
	for i, claim := range r.Claims {
		if err := sqlrun.Identity(claim.Scope, claim.Key, claim.Fingerprint); err != nil {
			return nil, err
		}
		if n := len(claim.Key); n == 0 || n > inbox.MaxKeyBytes {
			return nil, fmt.Errorf("a key of %d bytes: it must have 1 to %d", n, inbox.MaxKeyBytes)
		}
		claims[i] = placed{claim, i}
	}
	slices.SortFunc(claims, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Key, b.Key))
	})
	for i := range claims[min(1, len(claims)):] {
		if claims[i].ID == claims[i+1].ID {
			return nil, fmt.Errorf("one message twice in a group of %d", len(claims))
		}
	}
	ctx, stop := txn.Guarded(ctx, t)
	defer stop()
	for range maxVanished {
		vanished, err := c.round(ctx, claims)
		if err != nil {
			return nil, err
		}
		if len(vanished) == 0 {
			return c.answers, nil
		}
		claims = vanished
	}
	return nil, errVanished
}

// placed is a claim with its index in the request.
type placed struct {
	inbox.Claim
	at int
}

// claiming is one call of Claim. Its claims are sorted.
type claiming struct {
	s       *inboxStore
	t       *txn.Txn
	request inbox.ClaimRequest
	answers []inbox.Claimed
}

// round claims, and looks the lost keys up. It returns the claims whose row was gone by
// then: retention had deleted it, so they can be claimed again.
func (c *claiming) round(ctx context.Context, claims []placed) ([]placed, error) {
	for i := range claims {
		c.answers[claims[i].at].Result = inbox.Lost
	}
	if c.s.lately.mostly() {
		if known, err := c.allKnown(ctx, claims); known || err != nil {
			return nil, err
		}
	}
	if err := c.insert(ctx, claims); err != nil {
		return nil, err
	}
	var lost []placed
	for _, claim := range claims {
		if c.answers[claim.at].Result == inbox.Lost {
			lost = append(lost, claim)
		}
	}
	c.s.lately.note(len(lost), len(claims))
	if len(lost) == 0 {
		return nil, nil
	}
	return c.lookUp(ctx, lost)
}

// allKnown looks all claims up before it claims any, and reports whether each has the row
// of the same message: then there is nothing to claim, and no writing transaction. The
// extra statement pays off while a source delivers its messages again. If a claim has no
// row, or the row of another message, the claim goes on as usual.
func (c *claiming) allKnown(ctx context.Context, claims []placed) (bool, error) {
	missing, err := c.lookUp(ctx, claims)
	if err != nil {
		return false, err
	}
	c.s.lately.note(len(claims)-len(missing), len(claims))
	if len(missing) > 0 {
		return false, nil
	}
	for i := range claims {
		if c.answers[claims[i].at].Entry.Fingerprint != claims[i].Fingerprint {
			return false, nil
		}
	}
	return true, nil
}

// share is a running mean of the share of claims that were lost. It only chooses the
// quicker way.
type share struct{ millionths atomic.Int64 }

func (s *share) note(lost, all int) {
	if all > 0 {
		old := s.millionths.Load()
		s.millionths.Store(old + (int64(lost)*1_000_000/int64(all)-old)/4)
	}
}

func (s *share) mostly() bool { return s.millionths.Load() > 750_000 }

// insert tries the claims in one statement, with the lock timeout if the request has one,
// and one by one if that was exceeded.
func (c *claiming) insert(ctx context.Context, claims []placed) error {
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
	// Rolling a claim back also undoes its settings, so the claim runs once without keys.
	if err := c.statement(ctx, nil, 0); err != nil {
		return err
	}
	for i := range claims {
		ok, err := c.bounded(ctx, claims[i:i+1])
		if err != nil {
			return err
		}
		if !ok {
			c.answers[claims[i].at].Result = inbox.Busy
		}
	}
	return nil
}

// bounded is statement with the request's lock timeout, behind a savepoint. It reports
// false, with the transaction unchanged, if the wait was too long.
func (c *claiming) bounded(ctx context.Context, claims []placed) (bool, error) {
	before := c.t.Savepoint("headrace_claim")
	if err := before.Set(ctx); err != nil {
		return false, fmt.Errorf("savepoint: %w", err)
	}
	err := c.statement(ctx, claims, c.request.LockTimeout)
	busy := txn.Classify(err) == txn.LockTimeout
	switch {
	case busy:
		if err := before.RollbackTo(ctx); err != nil {
			return false, fmt.Errorf("back to the savepoint: %w", err)
		}
	case err != nil:
		return false, err
	}
	if err := before.Release(ctx); err != nil {
		return false, fmt.Errorf("release the savepoint: %w", err)
	}
	return !busy, nil
}

// statement runs the claim, once for each scope, and stores the results and the
// transaction's id. Without claims it runs once.
func (c *claiming) statement(ctx context.Context, claims []placed, lockTimeout time.Duration) error {
	for {
		n := 0
		for n < len(claims) && claims[n].Scope == claims[0].Scope {
			n++
		}
		if err := c.ofScope(ctx, claims[:n], lockTimeout); err != nil {
			return err
		}
		if claims = claims[n:]; len(claims) == 0 {
			return nil
		}
	}
}

// ofScope runs the claim for claims of one scope.
func (c *claiming) ofScope(ctx context.Context, claims []placed, lockTimeout time.Duration) error {
	query, scope := c.s.sql.Claim, ""
	if len(claims) > 0 {
		scope = claims[0].Scope
	}
	state := inbox.Done
	if c.request.Waiting {
		state = inbox.Waiting
	}
	idle, limit := sqlrun.Millis(c.request.Limits.Idle), sqlrun.Millis(c.request.Limits.Statement)
	if len(claims) == 1 && lockTimeout > 0 {
		return c.one(ctx, &claims[0], string(state), idle, limit, sqlrun.Millis(lockTimeout))
	}
	keys := texts(claims, func(c *placed) string { return c.Key })
	prints := texts(claims, func(c *placed) string { return c.Fingerprint })
	args := []any{scope, keys, prints, string(state), idle, limit}
	if lockTimeout > 0 {
		query, args = c.s.sql.ClaimBounded, append(args, sqlrun.Millis(lockTimeout))
	}
	var id string
	var n int        // that were won
	var won []string // which, where that is neither none nor all
	var settings sql.NullString
	if err := c.t.QueryRowContext(ctx, query, args...).Scan(&id, &n, pq.Array(&won), &settings); err != nil {
		return err
	}
	c.t.SetID(id)
	some := make(map[string]bool, len(won))
	for _, key := range won {
		some[key] = true
	}
	for i := range claims {
		if n == len(claims) || some[claims[i].Key] {
			c.answers[claims[i].at] = inbox.Claimed{Result: inbox.Won}
		}
	}
	return nil
}

// one runs the claim for one message, with times in ms.
func (c *claiming) one(ctx context.Context, claim *placed, state string, idle, limit, lockTimeout int64) error {
	err := c.setID(ctx, c.s.sql.ClaimOne, claim.Scope, claim.Key, claim.Fingerprint, state, idle, limit, lockTimeout)
	switch {
	case err == nil:
		c.answers[claim.at] = inbox.Claimed{Result: inbox.Won}
	case errors.Is(err, sql.ErrNoRows):
		err = c.setID(ctx, c.s.sql.ClaimOneLost, idle, limit)
	}
	return err
}

// setID runs a statement whose row has the transaction's id and the settings.
func (c *claiming) setID(ctx context.Context, query string, args ...any) error {
	var id string
	var err error
	if c.s.oneRow {
		var row []driver.Value
		if _, err = c.t.ExecContext(context.WithValue(ctx, oneRow{}, &row), query, args...); err == nil && row == nil {
			err = sql.ErrNoRows
		} else if err == nil {
			id = row[0].(string)
		}
	} else {
		err = c.t.QueryRowContext(ctx, query, args...).Scan(&id, new(sql.NullString))
	}
	if err == nil {
		c.t.SetID(id)
	}
	return err
}

// lookUp fills in the rows of lost keys, and returns the claims that have none.
func (c *claiming) lookUp(ctx context.Context, lost []placed) ([]placed, error) {
	entries, err := sqlrun.Collect(ctx, c.t, c.s.sql.ClaimLost, []any{
		texts(lost, func(c *placed) string { return c.Scope }),
		texts(lost, func(c *placed) string { return c.Key }),
	}, sqlstore.EntryFields)
	if err != nil {
		return nil, fmt.Errorf("look up lost keys: %w", err)
	}
	found := make(map[inbox.ID]*inbox.Entry, len(entries))
	for i := range entries {
		found[entries[i].ID] = &entries[i]
	}
	var vanished []placed
	for _, claim := range lost {
		if e := found[claim.ID]; e != nil {
			c.answers[claim.at].Entry = *e
		} else {
			vanished = append(vanished, claim)
		}
	}
	return vanished, nil
}
