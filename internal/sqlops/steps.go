package sqlops

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/gather"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

// Steps implements ledger.Store and ledger.Admin.
type Steps struct {
	sqlrun.Table[stepStatements]
	// Marks and results of many messages at once share a commit.
	marks   gather.Gatherer[mark]
	results gather.Gatherer[ledger.Row]
}

type stepStatements struct {
	List, Result, Mark, MarkAll, Repeat, RecordDone, RecordAll, RecordOutcome, RecordDouble, Open string

	Find, Search, Doubled, Count, Blocking, Lock, Resolve, Discard, Erase, EraseAnswer, EraseMemos string
}

// Load hides the one of Table.
func (s *Steps) Load(d sqlrun.Driver, q sqlfile.Set, prefix string) {
	s.Table.Load(d, q, prefix)
	s.marks = gather.Gatherer[mark]{Most: mostTogether, Together: s.markAll, Alone: s.markOne}
	s.results = gather.Gatherer[ledger.Row]{Most: mostTogether, Together: s.recordAll, Alone: s.recordOne}
}

// maxExternalID bounds ids of other systems, in bytes: they are in an index.
const maxExternalID = 512

// stepFields are the destinations of a row's columns.
func stepFields(r *ledger.Row) []any {
	return []any{
		&r.ID.Scope, &r.ID.Key, &r.Step, &r.System, &r.State, &r.Generation, &r.Calls, &r.CallID, &r.InputHash, (*sqlrun.Blob)(&r.Result),
		&r.Size, &r.ExternalID, &r.OtherID, &r.Via, &r.Error, (*sqlrun.Span)(&r.Age), (*sqlrun.Span)(&r.Idle), (*sqlrun.Span)(&r.Unsettled),
		(*sqlrun.Instant)(&r.Changed), &r.By, &r.Reason,
	}
}

func (s *Steps) List(ctx context.Context, id inbox.ID) (rows []ledger.Row, err error) {
	defer sqlrun.Wrap("list steps", &err)
	if !encode.Clean(id.Scope + id.Key) {
		return nil, nil // no row has such a name
	}
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.List, []any{id.Scope, id.Key}, stepFields)
}

func (s *Steps) Result(ctx context.Context, id inbox.ID, step string) (result []byte, err error) {
	defer sqlrun.Wrap("read the result of a step", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Result, id.Scope, id.Key, step).Scan((*sqlrun.Blob)(&result))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return result, err
}

func (s *Steps) Repeat(ctx context.Context, l backlog.Lease, was, r ledger.Row) (did bool, err error) {
	defer sqlrun.Wrap("mark a step again", &err)
	return committed(ctx, s, s.SQL.Repeat, was,
		was.State, was.CallID, r.System, r.CallID, r.InputHash, r.Generation, s.Time(r.Sent), l.RowID, l.Token, sqlrun.Micros(r.Unsettled))
}

func (s *Steps) RecordOutcome(ctx context.Context, l backlog.Lease, r ledger.Row) (did bool, err error) {
	defer sqlrun.Wrap("record the outcome of a step", &err)
	return committed(ctx, s, s.SQL.RecordOutcome, r,
		r.CallID, r.State, r.Generation, encode.Text(r.Error, sqlrun.MaxError), l.RowID, l.Token, r.Via)
}

func (s *Steps) RecordDouble(ctx context.Context, r ledger.Row) (did bool, err error) {
	defer sqlrun.Wrap("record a second call", &err)
	return committed(ctx, s, s.SQL.RecordDouble, r, r.CallID, encode.Text(r.OtherID, maxExternalID))
}

// changed runs a statement for a step in t, and reports whether it changed the row.
func changed(ctx context.Context, t *txn.Txn, query string, r ledger.Row, args ...any) (bool, error) {
	if err := sqlrun.Identity(r.ID.Scope, r.ID.Key, r.Step); err != nil {
		return false, err
	}
	n, err := sqlrun.Affected(t.ExecContext(ctx, query, append([]any{r.ID.Scope, r.ID.Key, r.Step}, args...)...))
	return n > 0, err
}

// committed is changed in a transaction of the statement's own.
func committed(ctx context.Context, d sqlrun.Driver, query string, r ledger.Row, args ...any) (bool, error) {
	if err := sqlrun.Identity(r.ID.Scope, r.ID.Key, r.Step); err != nil {
		return false, err
	}
	n, err := d.CommitOne(ctx, query, append([]any{r.ID.Scope, r.ID.Key, r.Step}, args...)...)
	return n > 0, err
}

// result is a row's result as an argument: nil bytes are NULL for every driver.
func result(r ledger.Row) any {
	if r.Result == nil {
		return nil
	}
	return r.Result
}

func (s *Steps) Open(ctx context.Context, q headrace.DBTX, ids []inbox.ID, known []string) (open map[inbox.ID]ledger.Row, err error) {
	defer sqlrun.Wrap("look for open steps", &err)
	args := append(s.Many(sqlrun.IDs(ids)...), s.Many(known)...)
	rows, err := sqlrun.Collect(ctx, q, s.SQL.Open, args, func(r *ledger.Row) []any {
		return []any{&r.ID.Scope, &r.ID.Key, &r.Step, &r.System, &r.State}
	})
	open = make(map[inbox.ID]ledger.Row, len(rows))
	for _, r := range rows {
		open[r.ID] = r
	}
	return open, err
}

func (s *Steps) Find(ctx context.Context, system, externalID string, limit int) (rows []ledger.Row, err error) {
	defer sqlrun.Wrap("find steps", &err)
	if !encode.Clean(system + externalID) {
		return nil, nil
	}
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Find, []any{system, encode.Text(externalID, maxExternalID), limit}, stepFields)
}

func (s *Steps) Search(ctx context.Context, f ledger.Filter, limit int) (rows []ledger.Row, err error) {
	defer sqlrun.Wrap("search steps", &err)
	if !encode.Clean(f.System) {
		return nil, nil
	}
	if f.Doubled {
		return sqlrun.Collect(ctx, s.Reader(), s.SQL.Doubled, []any{f.System, limit}, stepFields)
	}
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Search, []any{f.State, f.System, sqlrun.Micros(f.Idle), limit}, stepFields)
}

func (s *Steps) Count(ctx context.Context, consumer string, idle time.Duration) (counts map[ledger.State]int64, err error) {
	defer sqlrun.Wrap("count steps", &err)
	type count struct {
		state ledger.State
		n     int64
	}
	rows, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Count, []any{sqlrun.ScopesOf(consumer), sqlrun.ScopesEnd(consumer), sqlrun.Micros(idle), ledger.MaxCount}, func(c *count) []any { return []any{&c.state, &c.n} })
	counts = make(map[ledger.State]int64, len(rows))
	for _, c := range rows {
		if c.n > 0 {
			counts[c.state] = c.n
		}
	}
	return counts, err
}

func (s *Steps) Blocking(ctx context.Context, t *txn.Txn, ids []inbox.ID) (steps map[inbox.ID]string, err error) {
	defer sqlrun.Wrap("look for steps that need a person", &err)
	return stepOfEach(ctx, t, s.SQL.Blocking, s.Many(sqlrun.IDs(ids)...))
}

// stepOfEach runs a query that returns messages and steps, and returns one step of each message.
func stepOfEach(ctx context.Context, t *txn.Txn, query string, args []any) (map[inbox.ID]string, error) {
	type row struct {
		inbox.ID
		step string
	}
	rows, err := sqlrun.Collect(ctx, t, query, args, func(r *row) []any { return []any{&r.Scope, &r.Key, &r.step} })
	steps := make(map[inbox.ID]string, len(rows))
	for _, r := range rows {
		steps[r.ID] = cmp.Or(r.step, steps[r.ID])
	}
	return steps, err
}

func (s *Steps) Lock(ctx context.Context, t *txn.Txn, id inbox.ID, step string) (r ledger.Row, found bool, err error) {
	defer sqlrun.Wrap("lock a step", &err)
	rows, err := sqlrun.Collect(ctx, t, s.SQL.Lock, []any{id.Scope, id.Key, step}, stepFields)
	if err != nil || len(rows) == 0 {
		return ledger.Row{}, false, err
	}
	return rows[0], true, nil
}

func (s *Steps) Resolve(ctx context.Context, t *txn.Txn, r ledger.Row) (err error) {
	defer sqlrun.Wrap("resolve a step", &err)
	there, err := changed(ctx, t, s.SQL.Resolve, r,
		r.State, r.Generation, result(r), encode.Text(r.ExternalID, maxExternalID), r.Via, encode.Text(r.Error, sqlrun.MaxError),
		encode.Text(r.By, sqlrun.MaxName), encode.Text(r.Reason, sqlrun.MaxError), r.InputHash)
	if err == nil && !there {
		err = errors.New("it is gone")
	}
	return err
}

func (s *Steps) Discard(ctx context.Context, t *txn.Txn, ids []inbox.ID, by, reason string) (ended map[inbox.ID]string, err error) {
	defer sqlrun.Wrap("discard steps", &err)
	return stepOfEach(ctx, t, s.SQL.Discard, append(s.Many(sqlrun.IDs(ids)...), encode.Text(by, sqlrun.MaxName), encode.Text(reason, sqlrun.MaxError)))
}

func (s *Steps) Erase(ctx context.Context, t *txn.Txn, id inbox.ID) (n int, err error) {
	defer sqlrun.Wrap("erase results, the answer and shared results", &err)
	for _, query := range []string{s.SQL.Erase, s.SQL.EraseAnswer, s.SQL.EraseMemos} {
		erased, err := sqlrun.Affected(t.ExecContext(ctx, query, id.Scope, id.Key))
		if n += erased; err != nil {
			return n, err
		}
	}
	return n, nil
}
