package sqlops

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Rounds implements inbox.Pruner except the walks over the tables.
type Rounds struct {
	sqlrun.Table[struct{ CountMessages, CountLetters, Due, Take, Keep, Cut, NewestCut, Memos, Signals string }]
}

func (s *Rounds) Count(ctx context.Context, r inbox.PruneRequest) (found inbox.Pruned, err error) {
	q, scopes := s.Reader(), sqlrun.ScopesOf(r.Consumer)
	if err := q.QueryRowContext(ctx, s.SQL.CountMessages, sqlrun.Micros(r.Window), scopes).Scan(&found.Messages); err != nil {
		return found, fmt.Errorf("count old messages: %w", err)
	}
	lost := int64(0)
	err = q.QueryRowContext(ctx, s.SQL.CountLetters, r.Consumer, sqlrun.Micros(r.DeadLetters), sqlrun.Micros(r.OpenLetters), sqlrun.Micros(r.Window), scopes).
		Scan(&found.Letters, &lost)
	found.Messages += lost
	sqlrun.Wrap("count old letters", &err)
	return found, err
}

func (s *Rounds) Take(ctx context.Context, consumer string, lease time.Duration) (position string, due bool, err error) {
	defer sqlrun.Wrap("begin to prune", &err)
	if err := s.Reader().QueryRowContext(ctx, s.SQL.Due, consumer).Scan(&due); err != nil || !due {
		return "", false, err
	}
	err = s.Transact(ctx, func(t *txn.Txn) error {
		return t.QueryRowContext(ctx, s.SQL.Take, consumer, sqlrun.Micros(lease)).Scan(&position)
	})
	if errors.Is(err, sql.ErrNoRows) { // another process was faster
		return "", false, nil
	}
	return position, err == nil, err
}

func (s *Rounds) Keep(ctx context.Context, consumer, position string, rest time.Duration) (err error) {
	defer sqlrun.Wrap("note how far pruning has come", &err)
	_, err = s.Write(ctx, s.SQL.Keep, consumer, position, sqlrun.Micros(rest))
	return err
}

func (s *Rounds) Cut(ctx context.Context, consumer string, age time.Duration) (err error) {
	defer sqlrun.Wrap("note what is pruned", &err)
	_, err = s.Write(ctx, s.SQL.Cut, consumer, age.Microseconds())
	return err
}

func (s *Rounds) NewestCut(ctx context.Context, consumer string) (cut time.Time, err error) {
	defer sqlrun.Wrap("read what was pruned", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.NewestCut, consumer).Scan((*sqlrun.Instant)(&cut))
	return cut, err
}

func (s *Rounds) Expired(ctx context.Context, limit int) (n int, err error) {
	defer sqlrun.Wrap("remove shared results and early signals", &err)
	if n, err = s.Write(ctx, s.SQL.Memos, limit); err != nil || n == limit {
		return n, err
	}
	return s.Write(ctx, s.SQL.Signals, limit)
}

// LetterAfter parses the position of a walk over the letters.
func LetterAfter(from string) (int64, error) {
	if from == "" {
		return 0, nil
	}
	return strconv.ParseInt(from, 10, 64)
}
