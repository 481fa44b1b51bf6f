package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
)

// filterArgs are the first ten arguments of the statements that take a filter.
func filterArgs(f dlq.Filter) []any {
	state := string(f.State)
	switch {
	case f.AnyState:
		state = ""
	case state == "":
		state = string(dlq.Open)
	}
	ids := f.IDs
	if ids == nil {
		ids = []int64{}
	}
	// Text with a NUL byte or of another encoding is in no column, and would be an error.
	text := func(s string) string {
		if encode.Clean(s) {
			return s
		}
		return encode.Text(s, 0)
	}
	return []any{
		state, pq.Array(ids), text(f.Consumer), text(f.Handler), text(f.Topic), string(f.Class), text(f.ErrorPrint),
		text(f.Key), instant(f.Since), instant(f.Until),
	}
}

// instant is t for a column, NULL where it is zero.
func instant(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: !t.IsZero()} }

// readLetters runs a statement that returns letters.
func readLetters(ctx context.Context, q querier, query string, args ...any) ([]dlq.Letter, error) {
	type row struct {
		dlq.Letter
		metadata           []byte
		coordinates, chain string
	}
	rows, err := collect(ctx, q, query, args, func(r *row) []any {
		d := &r.Delivery
		return []any{
			&r.LetterID, &r.State, &r.Class, &r.Consumer, &r.Handler, &d.Scope, &d.Key, &d.OrderKey, &r.Strict,
			&d.Fingerprint, &r.FirstPrint, &d.ID, &d.Topic, &d.Payload, &r.metadata, &r.coordinates, &d.Trace.Parent,
			&d.Trace.State, &r.Error, &r.ErrorPrint, &r.chain, &r.Stack, &r.Attempts, &r.FirstFailure, &r.LastFailure,
			&r.PreviousID, &r.Redrives, &r.Host, &r.Build, &r.CreatedAt, &r.ChangedAt, &d.ReplyTopic,
		}
	})
	if err != nil {
		return nil, err
	}
	letters := make([]dlq.Letter, len(rows))
	for i := range rows {
		r := &rows[i]
		for _, at := range []*time.Time{&r.FirstFailure, &r.LastFailure, &r.CreatedAt, &r.ChangedAt} {
			*at = at.UTC()
		}
		r.Delivery.Metadata = map[string]string{}
		if len(r.metadata) > 0 {
			if r.Delivery.Metadata, err = encode.ParseMetadata(r.metadata); err != nil {
				return nil, fmt.Errorf("letter %d: %w", r.LetterID, err)
			}
		}
		if err := json.Unmarshal([]byte(r.coordinates), &r.Delivery.Coordinates); err != nil {
			return nil, fmt.Errorf("letter %d: coordinates: %w", r.LetterID, err)
		}
		if err := json.Unmarshal([]byte(r.chain), &r.Chain); err != nil {
			return nil, fmt.Errorf("letter %d: chain: %w", r.LetterID, err)
		}
		letters[i] = r.Letter
	}
	return letters, nil
}

// Get implements dlq.Store.
func (s *letterStore) Get(ctx context.Context, id int64) (dlq.Letter, error) {
	letters, err := readLetters(ctx, s.plan.on(s.db), s.get, id)
	if err != nil {
		return dlq.Letter{}, fmt.Errorf("read dead letter %d: %w", id, err)
	}
	if len(letters) == 0 {
		return dlq.Letter{}, fmt.Errorf("%w: %d", dlq.ErrNotFound, id)
	}
	return letters[0], nil
}

// List implements dlq.Store.
func (s *letterStore) List(ctx context.Context, f dlq.Filter, before int64, limit int) ([]dlq.Letter, error) {
	letters, err := readLetters(ctx, s.plan.on(s.db), s.list, append(filterArgs(f), before, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	for i := range letters {
		letters[i].Delivery.Payload = nil // not read
	}
	return letters, nil
}

// Groups implements dlq.Store.
func (s *letterStore) Groups(ctx context.Context, f dlq.Filter) (groups []dlq.Group, err error) {
	args := filterArgs(f)
	if f.WholeGroups() {
		const consumer, handler, class, print = 2, 3, 5, 6 // where filterArgs has them
		groups, err = s.readGroups(ctx, s.groupsOpen, args[consumer], args[handler], args[class], args[print], dlq.MaxWholeGroups)
	}
	if err == nil && (!f.WholeGroups() || len(groups) == dlq.MaxWholeGroups) {
		groups, err = s.readGroups(ctx, s.groups, args...)
	}
	if err != nil {
		return nil, fmt.Errorf("group dead letters: %w", err)
	}
	return groups, nil
}

func (s *letterStore) readGroups(ctx context.Context, query string, args ...any) ([]dlq.Group, error) {
	groups, err := collect(ctx, s.plan.on(s.db), query, args, func(g *dlq.Group) []any {
		return []any{&g.ErrorPrint, &g.Consumer, &g.Handler, &g.Class, &g.Count, &g.First, &g.Last, &g.Sample, &g.SampleID}
	})
	for i := range groups {
		groups[i].First, groups[i].Last = groups[i].First.UTC(), groups[i].Last.UTC()
	}
	return groups, err
}

// Count implements dlq.Store.
func (s *letterStore) Count(ctx context.Context, f dlq.Filter) (int64, error) {
	var n int64
	if err := s.plan.on(s.db).QueryRowContext(ctx, s.count, filterArgs(f)...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count dead letters: %w", err)
	}
	return n, nil
}

// Trail implements dlq.Store.
func (s *letterStore) Trail(ctx context.Context, id int64) ([]dlq.Audit, error) {
	trail, err := collect(ctx, s.plan.on(s.db), s.trails, []any{id}, func(a *dlq.Audit) []any {
		return []any{&a.LetterID, &a.Action, &a.By, &a.Reason, &a.NewKey, &a.At}
	})
	if err != nil {
		return nil, fmt.Errorf("read what was done to dead letter %d: %w", id, err)
	}
	for i := range trail {
		trail[i].At = trail[i].At.UTC()
	}
	return trail, nil
}
