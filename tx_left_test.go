package headrace_test

import (
	"context"
	"errors"
	"testing"

	"github.com/headrace/headrace"
)

// What a handler leaves open is closed before the next user of the connection.
//
//evidence:open-rows
func TestLeftOpen(t *testing.T) {
	tx, under := handlerTx(t, database(t), headrace.TxOptions{})
	rows, err := tx.QueryContext(ctx, "SELECT 1 UNION SELECT 2")
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	_ = tx.QueryRowContext(ctx, "SELECT 3") // never scanned
	stmt, err := tx.PrepareContext(ctx, "SELECT 4")
	if err != nil {
		t.Fatal(err)
	}
	tx.CloseRows()
	if rows.Next() {
		t.Error("the rows are still open")
	}
	open, err := stmt.QueryContext(ctx) // and never closed: they end with the transaction
	if err != nil || !tx.Failed() {
		t.Errorf("%v; a statement that may have failed: %t", err, tx.Failed())
	}
	if err := under.Commit(ctx); err != nil {
		t.Errorf("commit: %v", err)
	}
	if open != nil && open.Next() {
		t.Error("the rows of the statement are still open")
	}
}

// Engines are told what there is to undo, and whether an error was passed over.
func TestTouchedAndFailed(t *testing.T) {
	for name, c := range map[string]struct {
		do              func(tx *headrace.Tx)
		touched, failed bool
	}{
		"nothing":      {func(*headrace.Tx) {}, false, false},
		"an event":     {func(tx *headrace.Tx) { _ = tx.Publish(headrace.Event{Topic: "t", Payload: []byte{}}) }, false, false},
		"a statement":  {func(tx *headrace.Tx) { _ = insert(ctx, tx, 1) }, true, false},
		"a failed one": {func(tx *headrace.Tx) { _, _ = tx.ExecContext(ctx, "nonsense") }, true, true},
		"a failed one, undone": {func(tx *headrace.Tx) {
			_ = tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
				_, err := tx.ExecContext(ctx, "nonsense")
				return errors.Join(err, errPart)
			})
		}, true, false},
		"a failed row":  {func(tx *headrace.Tx) { _ = tx.QueryRowContext(ctx, "nonsense") }, true, true},
		"a refused one": {func(tx *headrace.Tx) { _, _ = tx.ExecContext(ctx, "COMMIT") }, false, false},
	} {
		tx, _ := handlerTx(t, database(t), headrace.TxOptions{})
		c.do(tx)
		tx.CloseRows()
		if tx.Touched() != c.touched || tx.Failed() != c.failed {
			t.Errorf("%s: touched %t, failed %t", name, tx.Touched(), tx.Failed())
		}
	}
}

// Alone, a handler may change the session, and engines are told so.
func TestSessionChanged(t *testing.T) {
	for query, want := range map[string]bool{"SELECT 1": false, "PRAGMA foreign_keys": true} {
		tx, _ := handlerTx(t, database(t), alone)
		if _, err := tx.ExecContext(ctx, query); err != nil {
			t.Fatal(err)
		}
		if tx.SessionChanged() != want {
			t.Errorf("%s: %t", query, !want)
		}
	}
}
