package sqljobs

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

func (s *Jobs) Due(ctx context.Context, consumer string) (running, paused []int64, err error) {
	defer sqlrun.Wrap("look for running redrives", &err)
	type row struct {
		id     int64
		paused bool
	}
	rows, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Due, []any{consumer}, func(r *row) []any { return []any{&r.id, &r.paused} })
	for _, r := range rows {
		if r.paused {
			paused = append(paused, r.id)
		} else {
			running = append(running, r.id)
		}
	}
	return running, paused, err
}

func (s *Jobs) Lock(ctx context.Context, t *txn.Txn, id int64, wait bool, limits txn.Limits) (r job.Redrive, found bool, err error) {
	defer sqlrun.Wrap("lock a redrive", &err)
	query := s.SQL.Lock
	if wait {
		query = s.SQL.LockWait
	}
	var settings sql.NullString
	args := []any{id, sqlrun.Millis(limits.Idle), sqlrun.Millis(limits.Statement)}
	err = t.QueryRowContext(ctx, query, args...).Scan(append(redriveFields(&r), &settings)...)
	if errors.Is(err, sql.ErrNoRows) {
		return job.Redrive{}, false, nil
	}
	return r, err == nil, err
}

func (s *Jobs) Change(ctx context.Context, t *txn.Txn, r job.Redrive) (err error) {
	defer sqlrun.Wrap("change a redrive", &err)
	if err := sqlrun.Identity(r.Builds...); err != nil {
		return err
	}
	_, err = t.ExecContext(ctx, s.SQL.Change, r.ID, string(r.State), encode.Text(r.Why, sqlrun.MaxError), sqlrun.Strings(append([]string{}, r.Builds...)),
		r.Stage, s.Time(r.StageAt), r.StageSent, r.StageGood, r.Recent, r.Sent, r.Succeeded, r.FailedAgain, r.Unknown, r.Skipped, s.Time(r.TokensAt),
		encode.Text(r.AppliedBy, sqlrun.MaxName), encode.Text(r.Reason, sqlrun.MaxError), s.Time(r.Applied), s.Time(r.Resumed), s.Time(r.Stepped), s.Time(r.Ended), r.OpenCalls)
	return err
}

// allLooks is more than any job has under way.
const allLooks = 1 << 30

func (s *Jobs) Looks(ctx context.Context, t *txn.Txn, id int64) ([]job.Look, error) {
	return s.looks(ctx, t, id, 0, math.MaxInt64, allLooks)
}

func (s *Jobs) looks(ctx context.Context, q sqlrun.Reader, id, after, upTo int64, limit int) (looks []job.Look, err error) {
	defer sqlrun.Wrap("read the outcomes of a redrive", &err)
	return sqlrun.Collect(ctx, q, s.SQL.Looks, []any{id, limit, after, upTo}, func(l *job.Look) []any {
		return append(entryFields(&l.Entry), &l.Class, &l.NextID, &l.Inbox, &l.Attempt, (*sqlrun.Instant)(&l.PostponedAt), (*sqlrun.Instant)(&l.Due))
	})
}

func (s *Jobs) Next(ctx context.Context, t *txn.Txn, id int64, limit int) (list []job.Candidate, err error) {
	defer sqlrun.Wrap("read the next letters of a redrive", &err)
	return sqlrun.Collect(ctx, t, s.SQL.Next, []any{id, limit}, func(c *job.Candidate) []any {
		return append(entryFields(&c.Entry), &c.Class, &c.Letter, &c.Handler, &c.Bytes)
	})
}

func (s *Jobs) Settle(ctx context.Context, t *txn.Txn, id int64, entries []job.Entry) (err error) {
	defer sqlrun.Wrap("record what became of letters", &err)
	if len(entries) == 0 {
		return nil
	}
	type entry = job.Entry
	_, err = t.ExecContext(ctx, s.SQL.Settle, s.Many(
		sqlrun.Numbers(entries, func(*entry) int64 { return id }),
		sqlrun.Numbers(entries, func(e *entry) int64 { return e.LetterID }),
		sqlrun.Texts(entries, func(e *entry) string { return string(e.State) }),
		sqlrun.Texts(entries, func(e *entry) string { return encode.Text(e.Why, sqlrun.MaxError) }),
		sqlrun.Texts(entries, func(e *entry) string { return e.Key }),
		sqlrun.Texts(entries, func(e *entry) string { return e.OrderKey }),
		sqlrun.Numbers(entries, func(e *entry) int64 { return e.Next }))...)
	return err
}

func (s *Jobs) SkipBehind(ctx context.Context, t *txn.Txn, id int64, entries []job.Entry) (n int64, err error) {
	defer sqlrun.Wrap("skip letters of an order key", &err)
	if len(entries) == 0 {
		return 0, nil
	}
	type entry = job.Entry
	skipped, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.SkipBehind, s.Many(
		sqlrun.Numbers(entries, func(*entry) int64 { return id }),
		sqlrun.Texts(entries, func(e *entry) string { return e.Scope }),
		sqlrun.Texts(entries, func(e *entry) string { return e.OrderKey }),
		sqlrun.Texts(entries, func(e *entry) string { return encode.Text(e.Why, sqlrun.MaxError) }))...))
	return int64(skipped), err
}
