package sqljobs

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/internal/sqlsearch"
	"github.com/headrace/headrace/store/txn"
)

// Jobs implements job.Plans, job.Steps and job.Reader.
type Jobs struct {
	sqlrun.Table[struct {
		Create, Add, Planned, Forget, ForgetLetters string

		Due, Lock, LockWait, Change, Looks, Next, Settle, SkipBehind string

		Get, List, Unfinished, Entries, Survey, NewLetters, Waits string
		// Added is the second half of Add where that cannot be one statement.
		Added string `sql:"optional"`
	}]
	windows *sqlsearch.Windows
}

// New returns the redrives of a database.
func New(d sqlrun.Driver, q sqlfile.Set) job.Store {
	jobs := sqlrun.Loaded(d, q, "redrives", &Jobs{windows: sqlrun.Loaded(d, q, "letters", &sqlsearch.Windows{})})
	return job.Store{Plans: jobs, Steps: jobs, Reader: jobs}
}

// redriveFields are the destinations of a redrive's columns.
func redriveFields(r *job.Redrive) []any {
	return []any{
		&r.ID, &r.Kind, &r.State, &r.Why, &r.Consumer, &r.Filter, &r.Handler, &r.ErrorFingerprint, &r.Count, sqlrun.JSON(&r.Survey), sqlrun.JSON(&r.Builds), sqlrun.JSON(&r.Stages),
		&r.MaxRunning, &r.Rate, &r.PauseAt, (*sqlrun.Span)(&r.StageTimeout),
		&r.Stage, (*sqlrun.Instant)(&r.StageAt), &r.StageSent, &r.StageGood, &r.Recent,
		&r.Sent, &r.Succeeded, &r.FailedAgain, &r.Unknown, &r.Skipped, (*sqlrun.Instant)(&r.TokensAt),
		&r.PlannedBy, (*sqlrun.Instant)(&r.Planned), (*sqlrun.Instant)(&r.Expires), &r.AppliedBy, &r.Reason, &r.OpenCalls,
		(*sqlrun.Instant)(&r.Applied), (*sqlrun.Instant)(&r.Resumed), (*sqlrun.Instant)(&r.Stepped), (*sqlrun.Instant)(&r.Ended),
		(*sqlrun.Instant)(&r.Now),
	}
}

// entryFields are the destinations of an entry's columns.
func entryFields(e *job.Entry) []any {
	return []any{&e.LetterID, &e.Rev, &e.State, &e.Why, &e.Scope, &e.Key, &e.OrderKey, &e.Next, (*sqlrun.Instant)(&e.At)}
}

func (s *Jobs) Create(ctx context.Context, r job.Redrive) (id int64, err error) {
	defer sqlrun.Wrap("create a redrive", &err)
	if err := cmp.Or(instance.CheckConsumer(r.Consumer), sqlrun.Identity(append([]string{r.Consumer, r.Handler, r.ErrorFingerprint}, r.Builds...)...), r.Options.Check()); err != nil {
		return 0, err
	}
	stages, err := json.Marshal(append([]int{}, r.Stages...))
	if err != nil {
		return 0, err
	}
	args := []any{
		string(r.Kind), r.Consumer, encode.Text(r.Filter, sqlrun.MaxError), sqlrun.Strings(append([]string{}, r.Builds...)), string(stages), r.MaxRunning,
		r.Rate, r.PauseAt, sqlrun.Micros(r.StageTimeout), encode.Text(r.PlannedBy, sqlrun.MaxName),
		r.Handler, r.ErrorFingerprint,
	}
	err = s.Transact(ctx, func(t *txn.Txn) error { return t.QueryRowContext(ctx, s.SQL.Create, args...).Scan(&id) })
	return id, err
}

func (s *Jobs) Add(ctx context.Context, id int64, f dlq.Filter, w dlq.Span) (list []job.Survey, err error) {
	defer sqlrun.Wrap("list the letters of a redrive", &err)
	args, err := s.windows.WindowArgs(f, w)
	if err != nil {
		return nil, err
	}
	args = append(args, id)
	err = s.Transact(ctx, func(t *txn.Txn) error {
		query := s.SQL.Add
		if s.SQL.Added != "" {
			if _, err := t.ExecContext(ctx, query, args...); err != nil {
				return err
			}
			query = s.SQL.Added
		}
		list, err = sqlrun.Collect(ctx, t, query, args, surveyFields)
		return err
	})
	return list, err
}

func (s *Jobs) Planned(ctx context.Context, id, count int64, valid time.Duration, survey []job.Survey) (err error) {
	defer sqlrun.Wrap("complete a plan", &err)
	text, err := json.Marshal(append([]job.Survey{}, survey...))
	if err != nil {
		return err
	}
	n, err := s.Write(ctx, s.SQL.Planned, id, count, sqlrun.Micros(valid), string(text))
	if err == nil && n == 0 {
		err = fmt.Errorf("%w that is being prepared: %s", job.ErrNotFound, job.Name(id))
	}
	return err
}

func (s *Jobs) Forget(ctx context.Context, consumer string, age time.Duration, limit int) (more bool, err error) {
	defer sqlrun.Wrap("forget redrives", &err)
	n, err := s.Write(ctx, s.SQL.ForgetLetters, consumer, sqlrun.Micros(age), limit)
	if err != nil || n == limit {
		return err == nil, err
	}
	_, err = s.Write(ctx, s.SQL.Forget, consumer, sqlrun.Micros(age))
	return false, err
}

func (s *Jobs) Get(ctx context.Context, id int64) (r job.Redrive, err error) {
	defer sqlrun.Wrap("read a redrive", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Get, id).Scan(redriveFields(&r)...)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: %s", job.ErrNotFound, job.Name(id))
	}
	return r, err
}

func (s *Jobs) List(ctx context.Context, consumer string, limit int) (list []job.Redrive, err error) {
	defer sqlrun.Wrap("list redrives", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.List, []any{encode.Text(consumer, 0), limit}, redriveFields)
}

func (s *Jobs) Entries(ctx context.Context, id int64, state job.Outcome, after int64, limit int) (list []job.Entry, err error) {
	defer sqlrun.Wrap("read the letters of a redrive", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Entries, []any{id, string(state), after, limit}, entryFields)
}

func (s *Jobs) Unfinished(ctx context.Context, consumer string) (map[job.State]job.Unfinished, error) {
	type row struct {
		job.State
		job.Unfinished
	}
	rows, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Unfinished, []any{consumer}, func(r *row) []any {
		return []any{&r.State, &r.Jobs, &r.Queued}
	})
	sqlrun.Wrap("count unfinished redrives", &err)
	states := make(map[job.State]job.Unfinished, len(rows))
	for _, r := range rows {
		states[r.State] = r.Unfinished
	}
	return states, err
}

func (s *Jobs) LooksOf(ctx context.Context, id, after, upTo int64, limit int) ([]job.Look, error) {
	return s.looks(ctx, s.Reader(), id, after, upTo, limit)
}

func (s *Jobs) Survey(ctx context.Context, id int64, limit int) (list []job.Survey, err error) {
	defer sqlrun.Wrap("count the letters of a plan", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Survey, []any{id, limit}, surveyFields)
}

// surveyFields are the destinations of a survey's columns.
func surveyFields(v *job.Survey) []any {
	return []any{&v.Handler, &v.Build, &v.Letters, &v.Again, &v.Crashed, &v.StandIn, &v.Conflicts, &v.Review, &v.OpenCalls, &v.Closed, &v.Held, &v.HeldBy}
}

func (s *Jobs) NewLetters(ctx context.Context, r job.Redrive, builds []string) (n int64, err error) {
	defer sqlrun.Wrap("count new letters", &err)
	args := append([]any{r.ID}, s.Many(append([]string{}, builds...))...)
	err = s.Reader().QueryRowContext(ctx, s.SQL.NewLetters, args...).Scan(&n)
	return n, err
}

func (s *Jobs) Waits(ctx context.Context, t *txn.Txn, id int64) (first job.Entry, behind int64, err error) {
	defer sqlrun.Wrap("look for letters that wait", &err)
	err = t.QueryRowContext(ctx, s.SQL.Waits, id).Scan(append(entryFields(&first), &behind)...)
	if errors.Is(err, sql.ErrNoRows) {
		return job.Entry{}, 0, nil
	}
	return first, behind, err
}
