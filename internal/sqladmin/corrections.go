package sqladmin

import (
	"context"
	"slices"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Corrections implements dlq.Corrections.
type Corrections struct {
	sqlrun.Table[struct{ Raise, Insert, Edits, Restore, RestoreSteps string }]
}

func (s *Corrections) Edit(ctx context.Context, t *txn.Txn, e dlq.Edit) (written bool, err error) {
	defer sqlrun.Wrap("edit a dead letter", &err)
	raised, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.Raise, e.LetterID, e.Rev))
	if err != nil || raised == 0 {
		return false, err
	}
	_, err = t.ExecContext(ctx, s.SQL.Insert, e.LetterID, e.Rev, e.Payload, encode.Metadata(e.Metadata),
		encode.Text(e.By, sqlrun.MaxName), encode.Text(e.DBUser, sqlrun.MaxName), encode.Text(e.Reason, sqlrun.MaxError))
	return err == nil, err
}

func (s *Corrections) Edits(ctx context.Context, letter int64) (edits []dlq.Edit, err error) {
	defer sqlrun.Wrap("read the edits of a dead letter", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Edits, []any{letter}, func(e *dlq.Edit) []any {
		return []any{&e.LetterID, &e.Rev, &e.By, &e.DBUser, &e.Reason, (*sqlrun.Instant)(&e.At)}
	})
}

func (s *Corrections) Restore(ctx context.Context, t *txn.Txn, consumer string, ids []int64) (letters []dlq.Letter, err error) {
	defer sqlrun.Wrap("restore dead letters", &err)
	args := append(s.Many(ids), encode.Text(consumer, 0))
	letters, err = sqlrun.Collect(ctx, t, s.SQL.Restore, args, func(l *dlq.Letter) []any {
		return []any{&l.LetterID, &l.Class, &l.Consumer, &l.Handler, &l.Delivery.Scope, &l.Delivery.Key, &l.Delivery.Fingerprint}
	})
	slices.SortFunc(letters, func(a, b dlq.Letter) int { return int(a.LetterID - b.LetterID) })
	return letters, err
}

func (s *Corrections) RestoreSteps(ctx context.Context, t *txn.Txn, messages []inbox.ID) (err error) {
	defer sqlrun.Wrap("restore steps", &err)
	_, err = t.ExecContext(ctx, s.SQL.RestoreSteps, s.Many(sqlrun.IDs(messages)...)...)
	return err
}
