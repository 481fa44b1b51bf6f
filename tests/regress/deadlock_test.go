package regress

import (
	"context"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/memsource"
)

// Two processes may each have what the other one waits for. The database ends one of the
// transactions: its message runs again, and both are applied, with their neighbours, without a
// failed attempt.
//
//evidence:commit-bound
func TestDeadlockOfTwoProcesses(t *testing.T) {
	t.Parallel()
	onEachWay(t, onPostgres, fewer([]way{inBatch, fromBacklog, leased, alone}), func(f *fixture, w way) {
		f.exec("CREATE TABLE accounts (id TEXT PRIMARY KEY, n INTEGER NOT NULL)")
		f.exec("INSERT INTO accounts VALUES ('a', 0), ('b', 0)")
		var seen runs
		var met sync.WaitGroup
		met.Add(2)
		handler := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if err := insert(ctx, tx, m); err != nil {
				return err
			}
			order := map[string][]string{"a0": {"a", "b"}, "b0": {"b", "a"}}[m.ID]
			for i, id := range order {
				if i == 1 && seen.next(m.ID) == 1 { // both have their first row
					met.Done()
					met.Wait()
				}
				if _, err := tx.ExecContext(ctx, "UPDATE accounts SET n = n + 1 WHERE id = $1", id); err != nil {
					return err
				}
			}
			return nil
		}
		var all []*message.Message
		var ids []string
		for _, process := range []string{"a", "b"} {
			config := f.configOf(w)
			source := memsource.New()
			config.Source = source
			c := f.consumer(f.open(), config)
			w.handle(c, handler)
			f.start(c)
			for _, id := range series(process, 5) {
				all = append(all, source.Deliver(topic, id, []byte(`{}`), map[string]string{orderKey: process}))
				ids = append(ids, id)
			}
		}
		f.acked(all...)
		f.appliedOnce(ids...)
		f.noLetters()
		if n := f.count("SELECT sum(n) FROM accounts"); n != 4 {
			f.Errorf("the accounts have %d", n)
		}
		if n := seen.of("a0") + seen.of("b0"); n < 3 {
			f.Errorf("they ran %d times: there was no deadlock", n)
		}
	})
}

// A message that meets a deadlock in each run has a bound: it fails in the end, and the others
// go on.
//
//evidence:commit-bound
func TestDeadlockInEachRun(t *testing.T) {
	t.Parallel()
	onEachWay(t, onPostgres, fewer([]way{inBatch, fromBacklog, leased, alone}), func(f *fixture, w way) {
		f.exec("CREATE TABLE accounts (id TEXT PRIMARY KEY, n INTEGER NOT NULL)")
		f.exec("INSERT INTO accounts VALUES ('a', 0), ('b', 0)")
		const culprit, n = "m3", 6
		var seen runs
		config := f.configOf(w)
		config.Concurrency = 1
		_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if err := insert(ctx, tx, m); err != nil || m.ID != culprit {
				return err
			}
			seen.next(m.ID)
			return meet(ctx, f, tx)
		})
		f.acked(all...)
		f.appliedOnce(neighbours(n, culprit)...)
		f.deadAfter(culprit, &seen, 1)
	})
}

// meet has tx be the one that a deadlock ends: the other transaction looks for one much later.
func meet(ctx context.Context, f *fixture, tx *headrace.Tx) error {
	ctx, cancel := context.WithCancel(ctx)
	other, err := f.db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		cancel()
		return err
	}
	var waits sync.WaitGroup
	defer func() {
		cancel()
		waits.Wait()
		_ = other.Rollback()
	}()
	for _, statement := range []string{"SET LOCAL deadlock_timeout = '30s'", "UPDATE accounts SET n = n + 1 WHERE id = 'b'"} {
		if _, err := other.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE accounts SET n = n + 1 WHERE id = 'a'"); err != nil {
		return err
	}
	waits.Go(func() { _, _ = other.ExecContext(ctx, "UPDATE accounts SET n = n + 1 WHERE id = 'a'") })
	_, err = tx.ExecContext(ctx, "UPDATE accounts SET n = n + 1 WHERE id = 'b'")
	return err
}
