package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace/store/txn"
)

func conn1(t *testing.T, s *Store) *sql.Conn {
	t.Helper()
	c, err := s.DB().Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestDiscardInterrupts: a handler that is stuck in a statement, under a context
// that never ends, is cut off, and the store goes on.
func TestDiscardInterrupts(t *testing.T) {
	for name, run := range map[string]func(*txn.Txn, func()) error{
		"exec": func(tx *txn.Txn, started func()) error {
			started()
			_, err := tx.ExecContext(context.Background(), "INSERT INTO effects (key) "+endless+"SELECT 'a' || i FROM n")
			return err
		},
		"query": func(tx *txn.Txn, started func()) error {
			started()
			var n int
			return tx.QueryRowContext(context.Background(), endless+"SELECT count(*) FROM n").Scan(&n)
		},
		"prepared": func(tx *txn.Txn, started func()) error {
			st, err := tx.PrepareContext(context.Background(), "INSERT INTO effects (key) "+endless+"SELECT 'a' || i FROM n")
			if err != nil {
				return err
			}
			defer func() { _ = st.Close() }()
			started()
			_, err = st.ExecContext(context.Background())
			return err
		},
		"many short ones": func(tx *txn.Txn, started func()) error {
			started()
			for n := 0; ; n++ {
				if _, err := tx.ExecContext(context.Background(), "INSERT INTO effects (key) VALUES ($1)", n); err != nil {
					return err
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := setup(t)
			tx := begin(t, s)
			claim(t, s, tx, "a")
			started, stopped := make(chan struct{}), make(chan error, 1)
			go func() { stopped <- run(tx, func() { close(started) }) }()
			receive(t, started)
			tx.Discard()
			if err := receive(t, stopped); err == nil {
				t.Error("the handler ended without an error")
			}
			write(t, s, "b")
			wantRows(t, s, "a", 0)
		})
	}
}

// TestKilledBeforeItBegins: a statement that begins just after the kill, and before
// the rollback, must not run.
func TestKilledBeforeItBegins(t *testing.T) {
	s, _ := setup(t)
	tx := begin(t, s)
	defer tx.Discard()
	claim(t, s, tx, "a")
	if err := tx.Raw(func(dc any) error {
		dc.(*conn).kill()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := tx.ExecContext(context.Background(), "INSERT INTO effects (key) "+endless+"SELECT 'a' || i FROM n")
		done <- err
	}()
	if err := receive(t, done); !errors.Is(err, errDiscarded) {
		t.Errorf("the statement: %v", err)
	}
}

// TestDiscardKeepsTurn: a transaction that cannot be ended, because its handler
// holds the driver's connection, keeps its turn: the next writer would only meet the
// lock. It gets in when the old one has really ended.
func TestDiscardKeepsTurn(t *testing.T) {
	s, _ := setup(t)
	tx := begin(t, s)
	claim(t, s, tx, "a")
	held, letGo, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- tx.Raw(func(any) error {
			close(held)
			<-letGo
			return nil
		})
	}()
	receive(t, held)
	tx.Discard()

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Begin(ctx); txn.Classify(err) != txn.LockTimeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Begin beside it: %v (%s), want a lock timeout", err, txn.Classify(err))
	}
	var n int
	if err := s.read.QueryRowContext(t.Context(), "SELECT count(*) FROM headrace_inbox").Scan(&n); err != nil || n != 0 {
		t.Errorf("reads beside it: %d rows, %v", n, err)
	}
	close(letGo)
	if err := receive(t, done); err != nil {
		t.Errorf("Raw: %v", err)
	}
	write(t, s, "b")
	wantRows(t, s, "a", 0)
}

// TestDiscardOpenRows: rows that a handler left open do not keep the lock.
func TestDiscardOpenRows(t *testing.T) {
	s, _ := setup(t)
	tx := begin(t, s)
	claim(t, s, tx, "a")
	rows, err := tx.QueryContext(context.Background(), endless+"SELECT i FROM n")
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	tx.Discard()
	write(t, s, "b")
	if err := rows.Close(); err != nil {
		t.Errorf("Close of the rows: %v", err)
	}
}
