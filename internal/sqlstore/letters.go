package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/internal/sqlsearch"
	"github.com/headrace/headrace/store/txn"
)

// Letters implements dlq.Store.
type Letters struct {
	sqlrun.Table[struct {
		Insert, InsertExisting, Get, Next, Take, Reopen, CountDeliveries, Record, Trail, Count string
	}]
	*sqlsearch.Windows
}

// maxVanished is how often to retry writing a letter after the existing one was taken
// meanwhile.
const maxVanished = 8

// content is the unique part of a letter.
type content struct {
	scope, key, fingerprint string
	conflict                bool
}

func contentOf(l *dlq.Letter) content {
	return content{l.Delivery.Scope, l.Delivery.Key, l.Delivery.Fingerprint, l.Class == dlq.Conflict}
}

func (s *Letters) Insert(ctx context.Context, t *txn.Txn, letters []dlq.Letter) (inserted []dlq.Inserted, err error) {
	defer sqlrun.Wrap("insert dead letters", &err)
	for i := range letters {
		l := &letters[i]
		d := &l.Delivery
		if err := sqlrun.Identity(l.Consumer, l.Handler, d.Scope, d.Key, d.OrderKey, d.Fingerprint, l.FirstFingerprint, l.ErrorFingerprint); err != nil {
			return nil, err
		}
	}
	found := make(map[content]dlq.Inserted, len(letters))
	rest := letters
	for try := 0; len(rest) > 0; try++ {
		if try == maxVanished {
			return nil, errors.New("open letters of the messages were closed again and again meanwhile")
		}
		if err := s.insert(ctx, t, rest, found); err != nil {
			return nil, err
		}
		rest = slices.DeleteFunc(slices.Clone(rest), func(l dlq.Letter) bool { return found[contentOf(&l)].LetterID != 0 })
	}
	return sqlrun.Column(letters, func(l *dlq.Letter) dlq.Inserted { return found[contentOf(l)] }), nil
}

// insert writes letters, and looks up those that existed before. A letter that is taken
// in between is neither.
func (s *Letters) insert(ctx context.Context, t *txn.Txn, letters []dlq.Letter, found map[content]dlq.Inserted) error {
	type row struct {
		content
		id int64
	}
	read := func(query string, written bool, args []any) error {
		rows, err := sqlrun.Collect(ctx, t, query, args, func(r *row) []any {
			return []any{&r.id, &r.scope, &r.key, &r.fingerprint, &r.conflict}
		})
		for _, r := range rows {
			found[r.content] = dlq.Inserted{LetterID: r.id, Written: written}
		}
		return err
	}
	for _, args := range s.Each(letterColumns(letters)...) {
		if err := read(s.SQL.Insert, true, args); err != nil {
			return err
		}
	}
	lost := slices.DeleteFunc(slices.Clone(letters), func(l dlq.Letter) bool { return found[contentOf(&l)].Written })
	if len(lost) == 0 {
		return nil
	}
	err := read(s.SQL.InsertExisting, false, s.Many(
		sqlrun.Texts(lost, func(l *dlq.Letter) string { return l.Delivery.Scope }),
		sqlrun.Texts(lost, func(l *dlq.Letter) string { return l.Delivery.Key }),
		sqlrun.Texts(lost, func(l *dlq.Letter) string { return l.Delivery.Fingerprint }),
		sqlrun.Column(lost, func(l *dlq.Letter) bool { return l.Class == dlq.Conflict })))
	sqlrun.Wrap("look for those that were there", &err)
	return err
}

// letterColumns are the columns of new letters.
func letterColumns(letters []dlq.Letter) []any {
	type letter = dlq.Letter
	return []any{
		sqlrun.Texts(letters, func(l *letter) string { return string(l.Class) }),
		sqlrun.Texts(letters, func(l *letter) string { return l.Consumer }),
		sqlrun.Texts(letters, func(l *letter) string { return l.Handler }),
		sqlrun.Texts(letters, func(l *letter) string { return l.Delivery.Scope }),
		sqlrun.Texts(letters, func(l *letter) string { return l.Delivery.Key }),
		sqlrun.Texts(letters, func(l *letter) string { return l.Delivery.OrderKey }),
		sqlrun.Column(letters, func(l *letter) bool { return l.Strict }),
		sqlrun.Texts(letters, func(l *letter) string { return l.Delivery.Fingerprint }),
		sqlrun.Texts(letters, func(l *letter) string { return l.FirstFingerprint }),
		sqlrun.Named(letters, func(l *letter) string { return l.Delivery.ID }),
		sqlrun.Named(letters, func(l *letter) string { return l.Delivery.Topic }),
		sqlrun.Column(letters, func(l *letter) []byte { return l.Delivery.Payload }),
		sqlrun.Column(letters, func(l *letter) []byte { return encode.Metadata(l.Delivery.Metadata) }),
		sqlrun.Texts(letters, func(l *letter) string { return sqlrun.Coordinates(&l.Delivery) }),
		sqlrun.Texts(letters, func(l *letter) string { return sqlrun.Trace(l.Delivery.Trace.Parent) }),
		sqlrun.Texts(letters, func(l *letter) string { return sqlrun.Trace(l.Delivery.Trace.State) }),
		sqlrun.Texts(letters, func(l *letter) string { return encode.Text(l.Error, sqlrun.MaxError) }),
		sqlrun.Texts(letters, func(l *letter) string { return l.ErrorFingerprint }),
		sqlrun.Texts(letters, chain),
		sqlrun.Texts(letters, func(l *letter) string { return encode.Text(l.Stack, sqlrun.MaxStack) }),
		sqlrun.Numbers(letters, func(l *letter) int64 { return int64(l.Attempts) }),
		sqlrun.Numbers(letters, func(l *letter) int64 { return l.PreviousID }),
		sqlrun.Numbers(letters, func(l *letter) int64 { return int64(l.Redrives) }),
		sqlrun.Named(letters, func(l *letter) string { return l.Host }),
		sqlrun.Named(letters, func(l *letter) string { return l.Build }),
		sqlrun.Named(letters, func(l *letter) string { return l.Environment }),
		sqlrun.Named(letters, func(l *letter) string { return l.Delivery.ReplyTopic }),
		sqlrun.Numbers(letters, func(l *letter) int64 {
			if inbox.IsStandIn(l.Delivery.Key) {
				return 1
			}
			return 0
		}),
	}
}

// maxChain is how many errors of a chain are stored.
const maxChain = 32

// chain returns the chain of a letter as JSON.
func chain(l *dlq.Letter) string {
	list := make([]string, 0, maxChain)
	for _, text := range l.Chain[:min(len(l.Chain), maxChain)] {
		list = append(list, encode.Text(text, sqlrun.MaxName))
	}
	return sqlrun.Strings(list)
}

func (s *Letters) Take(ctx context.Context, t *txn.Txn, f dlq.Filter, to dlq.State, after int64, limit int) (letters []dlq.Letter, err error) {
	defer sqlrun.Wrap("take dead letters", &err)
	if f.InGo() && f.IDs == nil {
		return nil, errors.New("letters cannot be chosen by their content here: give IDs")
	}
	args, err := s.Args(f)
	if err != nil {
		return nil, err
	}
	letters, err = sqlrun.Collect(ctx, t, s.SQL.Take, append(args, after, limit, string(to)), sqlsearch.LetterFields)
	// What an UPDATE returns has no order.
	slices.SortFunc(letters, func(a, b dlq.Letter) int { return int(a.LetterID - b.LetterID) })
	return letters, err
}

func (s *Letters) Reopen(ctx context.Context, t *txn.Txn, l dlq.Letter) (m inbox.Claim, reopened bool, err error) {
	defer sqlrun.Wrap("open a dead letter again", &err)
	args := []any{l.LetterID, encode.Text(l.Error, sqlrun.MaxError), l.ErrorFingerprint, chain(&l)}
	err = t.QueryRowContext(ctx, s.SQL.Reopen, args...).Scan(&m.ID.Scope, &m.ID.Key, &m.Fingerprint)
	if errors.Is(err, sql.ErrNoRows) {
		return m, false, nil
	}
	return m, err == nil, err
}

func (s *Letters) CountDeliveries(ctx context.Context, t *txn.Txn, ids []inbox.ID) (err error) {
	defer sqlrun.Wrap("count deliveries", &err)
	if len(ids) == 0 {
		return nil
	}
	_, err = t.ExecContext(ctx, s.SQL.CountDeliveries, s.Many(sqlrun.IDs(ids)...)...)
	return err
}

func (s *Letters) Record(ctx context.Context, t *txn.Txn, rows []dlq.Audit) (err error) {
	defer sqlrun.Wrap("record what was done", &err)
	type audit = dlq.Audit
	if len(rows) == 0 {
		return nil
	}
	_, err = t.ExecContext(ctx, s.SQL.Record, s.Many(
		sqlrun.Numbers(rows, func(a *audit) int64 { return a.LetterID }),
		sqlrun.Texts(rows, func(a *audit) string { return a.Action }),
		sqlrun.Named(rows, func(a *audit) string { return a.By }),
		sqlrun.Texts(rows, func(a *audit) string { return encode.Text(a.Reason, sqlrun.MaxError) }),
		sqlrun.Numbers(rows, func(a *audit) int64 { return a.RedriveID }),
		sqlrun.Texts(rows, func(a *audit) string { return encode.Text(a.Detail, sqlrun.MaxError) }))...)
	return err
}
