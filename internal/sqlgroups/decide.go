package sqlgroups

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

func (s *Groups) Resolve(ctx context.Context, id groups.ID, by, build string) error {
	said := ""
	if build != "" {
		said = "in " + build
	}
	return s.must(ctx, "resolve", s.SQL.Resolve, id, by, said, encode.Text(by, sqlrun.MaxName), encode.Text(build, sqlrun.MaxName))
}

func (s *Groups) Mute(ctx context.Context, id groups.ID, m groups.Mute, span time.Duration, letters int64) error {
	said := "until it is unmuted"
	if span > 0 || letters > 0 {
		said = fmt.Sprintf("for %s and %d letters, 0 for no such end", span, letters)
	}
	if m.EvenIfWorse {
		said += "; even if it gets worse"
	}
	return s.must(ctx, "mute", s.SQL.Mute, id, m.MutedBy, said, encode.Text(m.MutedBy, sqlrun.MaxName), sqlrun.Micros(span), letters, m.EvenIfWorse)
}

func (s *Groups) Unmute(ctx context.Context, id groups.ID, by string) (was bool, err error) {
	return s.change(ctx, "unmute", s.SQL.Unmute, id, by, "")
}

func (s *Groups) Note(ctx context.Context, id groups.ID, n groups.Note) error {
	var said []string
	for _, part := range []struct {
		name  string
		value *string
	}{{"assignee", n.Assignee}, {"link", n.Link}, {"note", n.Text}} {
		if part.value != nil {
			said = append(said, fmt.Sprintf("%s: %s", part.name, *part.value))
		}
	}
	return s.must(ctx, "note", s.SQL.Note, id, n.By, strings.Join(said, "; "), noted(n.Assignee), noted(n.Text), noted(n.Link))
}

// noted is an argument; nil is NULL.
func noted(text *string) any {
	if text == nil {
		return nil
	}
	return encode.Text(*text, sqlrun.MaxError)
}

// must is change of a group that must be there.
func (s *Groups) must(ctx context.Context, action, query string, id groups.ID, by, said string, args ...any) error {
	was, err := s.change(ctx, action, query, id, by, said, args...)
	if err == nil && !was {
		err = fmt.Errorf("%s a group: %w: %s", action, groups.ErrNotFound, id.ErrorFingerprint)
	}
	return err
}

// change runs a statement on the row of a group, and records what a person did in the same
// transaction.
func (s *Groups) change(ctx context.Context, action, query string, id groups.ID, by, said string, args ...any) (changed bool, err error) {
	defer sqlrun.Wrap(action+" a group", &err)
	args = append([]any{id.Consumer, id.Handler, id.ErrorFingerprint}, args...)
	if said != "" {
		said = " " + said
	}
	return s.WriteRecorded(ctx, query, args, s.SQL.Record,
		id.ErrorFingerprint, action, encode.Text(by, sqlrun.MaxName), encode.Text(id.Consumer+"/"+id.Handler+said, sqlrun.MaxError))
}

func (s *Groups) Recount(ctx context.Context) (err error) {
	defer sqlrun.Wrap("count letters again", &err)
	return s.Transact(ctx, func(t *txn.Txn) error {
		// Statements of their own, so that the next ones see the commits of the writers before.
		if err := sqlrun.Steps(ctx, t, lockArgs(s), s.SQL.RecountLock); err != nil {
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
