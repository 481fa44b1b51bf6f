package sqlops

import (
	"context"
	"database/sql"
	"errors"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Answers implements store.Answers.
type Answers struct {
	sqlrun.Table[struct{ Put, Get, Find string }]
}

func (s *Answers) Put(ctx context.Context, t *txn.Txn, answers []store.Answer) (err error) {
	defer sqlrun.Wrap("keep answers", &err)
	if len(answers) == 0 {
		return nil
	}
	for _, a := range answers {
		if err := sqlrun.Identity(a.Scope, a.Key); err != nil {
			return err
		}
		if !encode.Clean(string(a.Value)) {
			return errors.New("one is not valid UTF-8, or holds a NUL byte")
		}
	}
	_, err = t.ExecContext(ctx, s.SQL.Put, s.Many(
		sqlrun.Texts(answers, func(a *store.Answer) string { return a.Scope }),
		sqlrun.Texts(answers, func(a *store.Answer) string { return a.Key }),
		sqlrun.Texts(answers, func(a *store.Answer) string { return string(a.Value) }))...)
	return err
}

func (s *Answers) Get(ctx context.Context, id inbox.ID) (value []byte, err error) {
	defer sqlrun.Wrap("read an answer", &err)
	if !encode.Clean(id.Scope + id.Key) {
		return nil, nil // no row has such a name
	}
	err = s.Reader().QueryRowContext(ctx, s.SQL.Get, id.Scope, id.Key).Scan((*sqlrun.Blob)(&value))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

func (s *Answers) Find(ctx context.Context, ids []inbox.ID) (entries []inbox.Entry, err error) {
	defer sqlrun.Wrap("look for messages", &err)
	asked := make([]inbox.ID, 0, len(ids))
	for _, id := range ids {
		if encode.Clean(id.Scope + id.Key) {
			asked = append(asked, id)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Find, s.Many(sqlrun.IDs(asked)...), func(e *inbox.Entry) []any {
		return []any{&e.Scope, &e.Key, &e.State, &e.Fingerprint, &e.Stale, (*sqlrun.Instant)(&e.At)}
	})
}
