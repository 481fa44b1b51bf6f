package sqlite

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// endless never ends by itself.
const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "

// soon returns a context that ends soon.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// endings make SQLite roll a transaction back that has inserted the effect a1.
var endings = map[string]func(*testing.T, *txn.Txn) error{
	"OR ROLLBACK": func(t *testing.T, tx *txn.Txn) error {
		_, err := tx.ExecContext(t.Context(), "INSERT OR ROLLBACK INTO effects (key) VALUES ('a1')")
		return err
	},
	"a writing statement whose context ended": func(t *testing.T, tx *txn.Txn) error {
		_, err := tx.ExecContext(soon(t), "INSERT INTO effects (key) "+endless+"SELECT 'a-' || i FROM n")
		return err
	},
	"a returning statement whose context ended": func(t *testing.T, tx *txn.Txn) error {
		rows, err := tx.QueryContext(soon(t), "INSERT INTO effects (key) "+endless+"SELECT 'a-' || i FROM n RETURNING key")
		if err == nil {
			_ = rows.Close()
		}
		return err
	},
	"a full disk": func(t *testing.T, tx *txn.Txn) error {
		if _, err := tx.ExecContext(t.Context(), "PRAGMA max_page_count = 1"); err != nil { // as small as it is
			t.Fatal(err)
		}
		// One row, or SQLite would only undo the statement.
		_, err := tx.ExecContext(t.Context(), "INSERT INTO effects (key) VALUES (hex(randomblob(1000000)))")
		if txn.Classify(err) != txn.Unavailable {
			t.Errorf("class of %v is %s", err, txn.Classify(err))
		}
		return err
	},
}

// TestEndedBySQLite: SQLite rolls a transaction back by itself on some errors, and
// would commit every statement after that at once: effects without the record of
// their message. A handler that passes over the error must not be able to do that
// (DESIGN §2: effects and record in one commit).
//
//evidence:passed-over
func TestEndedBySQLite(t *testing.T) {
	for name, fail := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := setup(t)
			tx := begin(t, s)
			claim(t, s, tx, "a")
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO effects (key) VALUES ('a1')"); err != nil {
				t.Fatal(err)
			}
			if err := fail(t, tx); err == nil {
				t.Fatal("the statement did not fail")
			}
			// The handler goes on as if nothing was.
			for _, query := range []string{"INSERT INTO effects (key) VALUES ('a2')", "SAVEPOINT headrace", "SELECT 1"} {
				if _, err := tx.ExecContext(t.Context(), query); !isEnded(err) {
					t.Errorf("%s after the end: %v", query, err)
				}
			}
			event := outbox.RowOf(headrace.Event{ID: "e", Topic: "t", Payload: []byte("p")})
			if err := s.Commit(t.Context(), tx, []outbox.Row{event}); !errors.Is(err, txn.ErrRolledBack) || errors.Is(err, inbox.ErrSwitched) {
				t.Errorf("Commit: %v, want a rollback", err)
			}
			wantRows(t, s, "a", 0)
			if st, err := s.Outbox().Status(t.Context()); err != nil || st.Ready != 0 {
				t.Errorf("the outbox holds %+v, %v", st, err)
			}
			write(t, s, "b")
		})
	}
}

// TestEndedByHandler: DESIGN §3 has the commit find out a handler that ended the
// transaction. Here nothing that it did is committed in the first place.
func TestEndedByHandler(t *testing.T) {
	for _, script := range []string{
		"COMMIT", "END", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN",
		"COMMIT; INSERT INTO effects (key) VALUES ('a2')",
		"ROLLBACK; INSERT INTO effects (key) VALUES ('a2')",
		"ROLLBACK; BEGIN; INSERT INTO effects (key) VALUES ('a2'); COMMIT",
		"ROLLBACK; BEGIN; INSERT INTO effects (key) VALUES ('a2')",
		"-- a comment\n /* and another */ COMMIT",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			s, _ := setup(t)
			tx := begin(t, s)
			claim(t, s, tx, "a")
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO effects (key) VALUES ('a1')"); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.ExecContext(t.Context(), script); !errors.Is(err, inbox.ErrSwitched) {
				t.Errorf("the statement returned %v", err)
			}
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO effects (key) VALUES ('a3')"); err == nil {
				t.Error("a statement after it ran")
			}
			wantRows(t, s, "a", 0)
			if err := s.Commit(t.Context(), tx, nil); !errors.Is(err, inbox.ErrSwitched) || errors.Is(err, txn.ErrRolledBack) {
				t.Errorf("Commit: %v, want inbox.ErrSwitched", err)
			}
			wantRows(t, s, "a", 0)
			write(t, s, "b")
		})
	}
}

// TestPreparedStatementsAreWatched: a statement that was prepared before the end
// must not run after it.
func TestPreparedStatementsAreWatched(t *testing.T) {
	s, _ := setup(t)
	tx := begin(t, s)
	claim(t, s, tx, "a")
	insert, err := tx.PrepareContext(t.Context(), "INSERT OR ROLLBACK INTO effects (key) VALUES ($1) RETURNING key")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = insert.Close() }()
	run := func(key string) error {
		_, err := insert.ExecContext(t.Context(), key)
		return err
	}
	if err := errors.Join(run("a1"), run("a2")); err != nil {
		t.Fatal(err)
	}
	if err := run("a1"); err == nil || isEnded(err) {
		t.Errorf("the second a1: %v", err)
	}
	if err := run("a3"); !isEnded(err) {
		t.Errorf("after the end: %v", err)
	}
	var key string
	if err := insert.QueryRowContext(t.Context(), "a4").Scan(&key); !isEnded(err) {
		t.Errorf("after the end: %v", err)
	}
	tx.Rollback()
	wantRows(t, s, "a", 0)
	write(t, s, "b")
}

// TestCommitRefused: DESIGN §3 COMMIT: what SQLite refuses is rolled back, not
// unknown, and the connection is clean afterwards.
//
//evidence:refused
func TestCommitRefused(t *testing.T) {
	s, _ := setup(t)
	mustExec(t, s, "CREATE TABLE child (key TEXT REFERENCES effects (key) DEFERRABLE INITIALLY DEFERRED)")
	for range 3 { // on each connection
		tx := begin(t, s)
		claim(t, s, tx, "a")
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO child (key) VALUES ('missing')"); err != nil {
			t.Fatal(err)
		}
		err := s.Commit(t.Context(), tx, nil)
		if !errors.Is(err, txn.ErrRolledBack) || errors.Is(err, txn.ErrCommitUnknown) || !strings.Contains(err.Error(), "FOREIGN KEY") {
			t.Errorf("Commit: %v, want ErrRolledBack for the foreign key", err)
		}
		wantRows(t, s, "a", 0)
	}
	write(t, s, "a")
}

// TestUserCommitRefused: after a refused COMMIT the connection goes back into the
// user's pool, and no transaction may be open on it.
func TestUserCommitRefused(t *testing.T) {
	s, _ := setup(t)
	s.DB().SetMaxOpenConns(1)
	mustExec(t, s, "CREATE TABLE child (key TEXT REFERENCES effects (key) DEFERRABLE INITIALLY DEFERRED)")
	for range 2 {
		tx, err := s.DB().BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO child (key) VALUES ('missing')"); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err == nil {
			t.Error("Commit worked")
		}
		mustExec(t, s, "INSERT INTO child (key) VALUES (NULL)")
	}
	write(t, s, "a")
}

// TestOnlyStoreCommits: a handler that is given the *sql.Tx cannot commit it.
//
//evidence:transaction
func TestOnlyStoreCommits(t *testing.T) {
	s, _ := setup(t)
	tx := begin(t, s)
	claim(t, s, tx, "a")
	if err := tx.SQL().Commit(); !errors.Is(err, inbox.ErrSwitched) {
		t.Errorf("Commit of the *sql.Tx: %v", err)
	}
	write(t, s, "b") // the turn is free
	if err := s.Commit(t.Context(), tx, nil); !errors.Is(err, inbox.ErrSwitched) {
		t.Errorf("Commit: %v", err)
	}
	wantRows(t, s, "a", 0)
}

// TestSavepoints: txn's savepoint nests, and the hooks take none of it for an end.
func TestSavepoints(t *testing.T) {
	s, _ := setup(t)
	tx := begin(t, s)
	claim(t, s, tx, "a")
	ctx := t.Context()
	insert := func(key string) {
		t.Helper()
		if _, err := tx.ExecContext(ctx, "INSERT INTO effects (key) VALUES ($1)", key); err != nil {
			t.Fatal(err)
		}
	}
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	point := tx.Savepoint("point")
	must(point.Set(ctx))
	insert("a")
	must(point.Set(ctx))
	insert("a-inner")
	must(point.RollbackTo(ctx), point.Release(ctx))
	if _, err := tx.ExecContext(ctx, "INSERT INTO effects (key) VALUES ('a')"); err == nil {
		t.Error("the outer insert is gone")
	}
	must(point.Release(ctx))
	if err := s.Commit(ctx, tx, nil); err != nil {
		t.Fatal(err)
	}
	wantRows(t, s, "a", 1)
}

// TestUserTransaction: a transaction of the user's own on Store.DB is committed by
// its Commit, and guarded against an end by SQLite like any other.
func TestUserTransaction(t *testing.T) {
	s, _ := setup(t)
	event := []outbox.Row{outbox.RowOf(headrace.Event{ID: "e", Topic: "t", Payload: []byte("p")})}
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Outbox().Insert(t.Context(), tx, event), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	if tx, err = s.DB().BeginTx(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"INSERT INTO effects (key) VALUES ('a')", "INSERT OR ROLLBACK INTO effects (key) VALUES ('a')"} {
		_, err = tx.ExecContext(t.Context(), query)
	}
	if err == nil {
		t.Error("the second insert did not fail")
	}
	if err := s.Outbox().Insert(t.Context(), tx, event); !isEnded(err) {
		t.Errorf("Insert after the end: %v", err)
	}
	if err := tx.Commit(); !isEnded(err) {
		t.Errorf("Commit after the end: %v", err)
	}
	if st, err := s.Outbox().Status(t.Context()); err != nil || st.Ready != 1 {
		t.Errorf("the outbox holds %+v, %v, want one event", st, err)
	}
	for _, q := range []headrace.Execer{s.DB(), conn1(t, s)} {
		if err := s.Outbox().Insert(t.Context(), q, event); !errors.Is(err, errNoTransaction) {
			t.Errorf("Insert on a %T: %v", q, err)
		}
	}
	write(t, s, "b")
}
