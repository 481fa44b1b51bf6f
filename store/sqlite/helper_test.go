package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// waitTimeout bounds every wait of a test for something that must happen.
const waitTimeout = 2 * time.Minute

// setup returns a fresh store with a table of effects, and the path of its file.
func setup(tb testing.TB) (*Store, string) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "test.db")
	s := openAt(tb, path, Options{Migrate: true})
	mustExec(tb, s, "CREATE TABLE effects (key TEXT NOT NULL UNIQUE)")
	return s, path
}

func openAt(tb testing.TB, path string, o Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return s
}

func mustExec(tb testing.TB, s *Store, query string, args ...any) {
	tb.Helper()
	if _, err := s.DB().ExecContext(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

func begin(tb testing.TB, s *Store) *txn.Txn {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), waitTimeout)
	defer cancel()
	t, err := s.Begin(ctx)
	if err != nil {
		tb.Fatalf("Begin: %v", err)
	}
	return t
}

// claim claims key in t and fails the test unless it is won.
func claim(tb testing.TB, s *Store, t *txn.Txn, key string) {
	tb.Helper()
	answers, err := s.Inbox().Claim(tb.Context(), t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: inbox.ID{Scope: "c/h", Key: key}}}})
	if err != nil || answers[0].Result != inbox.Won {
		tb.Fatalf("claim of %q: %v, %v", key, answers, err)
	}
}

// write does a round: claim, effect, commit. It shows that the store works.
func write(tb testing.TB, s *Store, key string) {
	tb.Helper()
	t := begin(tb, s)
	claim(tb, s, t, key)
	if _, err := t.ExecContext(tb.Context(), "INSERT INTO effects (key) VALUES ($1)", key); err != nil {
		tb.Fatal(err)
	}
	if err := s.Commit(tb.Context(), t, nil); err != nil {
		tb.Fatalf("Commit: %v", err)
	}
	wantRows(tb, s, key, 1)
}

// wantRows fails the test unless key has that many inbox rows and effects, both.
func wantRows(tb testing.TB, s *Store, key string, want int) {
	tb.Helper()
	for table, query := range map[string]string{
		"inbox":   "SELECT count(*) FROM headrace_inbox WHERE key = $1",
		"effects": "SELECT count(*) FROM effects WHERE key LIKE $1 || '%'",
	} {
		var n int
		if err := s.DB().QueryRowContext(tb.Context(), query, key).Scan(&n); err != nil {
			tb.Fatal(err)
		}
		if n != want {
			tb.Errorf("%d rows of %q in %s, want %d", n, key, table, want)
		}
	}
}

// receive returns what comes out of c, and fails the test if nothing does.
func receive[T any](tb testing.TB, c <-chan T) T {
	tb.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(waitTimeout):
		tb.Fatalf("nothing came within %s", waitTimeout)
		panic("unreachable")
	}
}
