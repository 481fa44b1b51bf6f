package regress

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
)

// withParameters returns dsn with settings for each session.
func withParameters(t *testing.T, dsn string, settings map[string]string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	for name, value := range settings {
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// cancelCommits cancels each COMMIT that waits for a lock in the sessions of an
// application, until ctx ends. It acts as a watchdog beside the database, because
// statement_timeout does not limit COMMIT.
func cancelCommits(ctx context.Context, f *fixture, application string) {
	const query = `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
		WHERE application_name = $1 AND wait_event_type = 'Lock' AND query ILIKE '%commit%' AND query_start < clock_timestamp() - interval '100 ms'`
	for ctx.Err() == nil {
		_, _ = f.db.ExecContext(ctx, query, application)
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A COMMIT that the server cancels (57014) is rolled back. The message whose deferred
// constraint had to wait spends an attempt, and the others are applied meanwhile.
//
// Without that the outcome of the COMMIT was taken for unknown, and the messages were run
// again without end: no attempt was counted, and no other message was applied.
//
//evidence:commit-bound
func TestCommitIsCancelled(t *testing.T) {
	t.Parallel()
	onEachWay(t, onPostgresWith(map[string]string{"statement_timeout": "1000"}), everyWay, func(f *fixture, w way) {
		const culprit, n = "m3", 10
		f.exec("CREATE TABLE parents (id INTEGER PRIMARY KEY)")
		f.exec("INSERT INTO parents VALUES (1), (2)")
		f.exec("CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED)")
		locked, err := f.db.BeginTx(context.Background(), nil)
		if err != nil {
			f.Fatal(err)
		}
		defer func() { _ = locked.Rollback() }()
		if _, err := locked.Exec("SELECT id FROM parents WHERE id = 1 FOR UPDATE"); err != nil {
			f.Fatal(err)
		}
		watch, unwatch := context.WithCancel(context.Background())
		watched := make(chan struct{})
		go func() { defer close(watched); cancelCommits(watch, f, f.schema) }()
		defer func() { unwatch(); <-watched }()

		var seen runs
		config := f.configOf(w)
		config.Retry = retry.Policy{MaxAttempts: 1000, Backoff: retry.Backoff{Initial: 100 * time.Millisecond, Max: 100 * time.Millisecond, Factor: 1}}
		_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			parent := 2
			if m.ID == culprit {
				parent = 1
				seen.next(fmt.Sprint("attempt ", m.Attempt))
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO children (parent) VALUES ($1)", parent); err != nil {
				return err
			}
			return insert(ctx, tx, m)
		})
		f.eventually("the attempt is counted", func() bool { return len(f.attempts(culprit)) > 0 })
		f.appliedOnce(beforeCulprit(w, n, culprit)...)
		_ = locked.Rollback()
		f.acked(all...)
		f.eventually("the message is applied", func() bool { return f.ended(culprit) })
		f.appliedOnce(neighbours(n, culprit)...)
		if n := seen.of("attempt 1"); w.name == alone.name && n != 1 {
			f.Errorf("the first attempt ran %d times", n) // the answer to COMMIT said that it was rolled back
		}
		if f.effects(culprit) != 1 {
			f.Errorf("the message was applied %d times", f.effects(culprit))
		}
		f.noLetters()
	})
}

// beforeCulprit returns the messages of together that need not wait for the culprit: a
// leased handler keeps the order of an order key.
func beforeCulprit(w way, n int, culprit string) []string {
	all := series("m", n)
	if w.name == leased.name {
		return all[:slices.Index(all, culprit)]
	}
	return neighbours(n, culprit)
}

// onPostgresWith is onPostgres for sessions with these settings.
func onPostgresWith(settings map[string]string) func(*testing.T, func(*fixture)) {
	return func(t *testing.T, f func(*fixture)) {
		for _, driver := range drivers(t) {
			t.Run(driver, func(t *testing.T) {
				t.Parallel()
				dsn, schema := pgstore.New(t)
				f(newPostgres(t, driver, withParameters(t, dsn, settings), schema))
			})
		}
	}
}
