package txn_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// runOnce runs query in a transaction of its own, by all three methods in turn.
func runOnce(t *testing.T, db *sql.DB, s *txn.Statements, query string, args ...any) error {
	t.Helper()
	ctx := context.Background()
	tx := begin(t, db, txn.Options{Statements: s})
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	_ = rows.Close()
	if err := tx.QueryRowContext(ctx, query, args...).Err(); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// TRAPS: lib/pq spends two round trips on a statement that is not prepared. With a
// pool of one, preparing must not wait for the transaction's own connection.
func TestStatementsAreLearnt(t *testing.T) {
	f := &fake{}
	db, s := f.open(t, 1), (*txn.Statements)(nil)
	s = txn.NewStatements(db, 4)
	defer s.Close()
	for range 3 {
		if err := runOnce(t, db, s, "q", 1); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"q", "q", "q", "prepared q", "prepared q", "prepared q", "prepared q", "prepared q", "prepared q"}
	if got := f.statements(); !slices.Equal(got, want) {
		t.Errorf("statements %q", got)
	}
	if got := f.preparedOnes(); !slices.Equal(got, []string{"q"}) {
		t.Errorf("prepared %q", got)
	}
}

// A server may keep the plan of a prepared statement, so it is prepared anew after a
// while. Who is about to use the one before can do so.
func TestStatementsAreReplanned(t *testing.T) {
	f := &fake{}
	db := f.open(t, 2)
	s := txn.NewStatements(db, 4)
	defer s.Close()
	run := func() {
		t.Helper()
		if err := runOnce(t, db, s, "q", 1); err != nil {
			t.Fatal(err)
		}
		rows, err := s.QueryContext(t.Context(), "outside", 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		run()
	}
	before := f.preparedOnes()
	s.Grow(txn.Replan - time.Second)
	run()
	if got := f.preparedOnes(); !slices.Equal(got, before) {
		t.Errorf("prepared %q after a short while, and %q before", got, before)
	}
	for range 3 {
		s.Grow(txn.Replan + time.Second)
		n := len(f.preparedOnes())
		run()
		run()
		if got := f.preparedOnes(); len(got) < n+2 {
			t.Errorf("prepared %q, no more than before", got)
		}
	}
}

// A statement without arguments goes in one round trip anyway, and may be several
// statements, which cannot be prepared.
func TestStatementsWithoutArguments(t *testing.T) {
	f := &fake{}
	db := f.open(t, 1)
	s := txn.NewStatements(db, 4)
	defer s.Close()
	for range 3 {
		if err := runOnce(t, db, s, "a; b"); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.preparedOnes(); len(got) != 0 {
		t.Errorf("prepared %q", got)
	}
}

func TestStatementsAreBounded(t *testing.T) {
	f := &fake{}
	db := f.open(t, 1)
	s := txn.NewStatements(db, 2)
	defer s.Close()
	for i := range 100 {
		for range 2 {
			if err := runOnce(t, db, s, fmt.Sprint("q", i), 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := f.preparedOnes(); len(got) != 2 {
		t.Errorf("prepared %q", got)
	}
	s.Reset()
	for range 2 {
		if err := runOnce(t, db, s, "new", 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.preparedOnes(); !slices.Contains(got, "new") {
		t.Errorf("after Reset prepared %q", got)
	}
}

// A prepared statement that the database refuses for good is forgotten; any other
// error leaves it.
func TestStatementsOutdated(t *testing.T) {
	for state, kept := range map[stateError]bool{"0A000": false, "26000": false, "23505": true, "40001": true} {
		f := &fake{run: func(query string) error {
			if query == "prepared q" {
				return state
			}
			return nil
		}}
		db := f.open(t, 1)
		s := txn.NewStatements(db, 4)
		defer s.Close()
		var last error
		for range 3 { // to learn it, to fail, to see
			last = runOnce(t, db, s, "q", 1)
		}
		if (last != nil) != kept {
			t.Errorf("%s: the run after it gives %v", string(state), last)
		}
	}
}
