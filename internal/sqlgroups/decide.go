package sqlgroups

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

func (s *Groups) Resolve(ctx context.Context, id groups.ID, by, build string) error {
	return s.change(ctx, "resolve a group", s.SQL.Resolve, id, encode.Text(by, sqlrun.MaxName), encode.Text(build, sqlrun.MaxName))
}

func (s *Groups) Mute(ctx context.Context, id groups.ID, m groups.Mute, span time.Duration, letters int64) error {
	return s.change(ctx, "mute a group", s.SQL.Mute, id, encode.Text(m.MutedBy, sqlrun.MaxName), sqlrun.Micros(span), letters, m.EvenIfWorse)
}

func (s *Groups) Unmute(ctx context.Context, id groups.ID, by string) (was bool, err error) {
	defer sqlrun.Wrap("unmute a group", &err)
	n, err := s.Write(ctx, s.SQL.Unmute, id.Consumer, id.Handler, id.ErrorFingerprint)
	return n > 0, err
}

func (s *Groups) Note(ctx context.Context, id groups.ID, n groups.Note) error {
	return s.change(ctx, "note on a group", s.SQL.Note, id, part(n.Assignee), part(n.Text), part(n.Link))
}

// part is an argument; nil is NULL.
func part(text *string) any {
	if text == nil {
		return nil
	}
	return encode.Text(*text, sqlrun.MaxError)
}

// change runs a statement on the row of a group.
func (s *Groups) change(ctx context.Context, what, query string, id groups.ID, args ...any) (err error) {
	defer sqlrun.Wrap(what, &err)
	n, err := s.Write(ctx, query, append([]any{id.Consumer, id.Handler, id.ErrorFingerprint}, args...)...)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", groups.ErrNotFound, id.ErrorFingerprint)
	}
	return err
}

func (s *Groups) Recount(ctx context.Context) (err error) {
	defer sqlrun.Wrap("count letters again", &err)
	return s.Transact(ctx, func(t *txn.Txn) error {
		// Statements of their own, so that the next ones see the commits of the writers before.
		if err := sqlrun.Steps(ctx, t, s.lockArgs(), s.SQL.RecountLock); err != nil {
			return err
		}
		return sqlrun.Steps(ctx, t, nil, s.SQL.RecountFreeze, s.SQL.RecountChanges, s.SQL.RecountHours, s.SQL.RecountGroups, s.SQL.RecountClosed)
	})
}

func (s *Groups) Prune(ctx context.Context) (err error) {
	defer sqlrun.Wrap("prune groups", &err)
	return s.Transact(ctx, func(t *txn.Txn) error {
		return sqlrun.Steps(ctx, t, nil, s.SQL.PruneHours, s.SQL.PruneGroups, s.SQL.PruneBuilds)
	})
}
