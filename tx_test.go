package headrace_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/headrace/headrace"
)

var (
	ctx   = context.Background()
	alone = headrace.TxOptions{Alone: true}
)

func TestTxRunsStatements(t *testing.T) {
	db := database(t)
	tx, under := handlerTx(t, db, headrace.TxOptions{})
	if err := insert(ctx, tx, 1); err != nil {
		t.Fatal(err)
	}
	stmt, err := tx.PrepareContext(ctx, "INSERT INTO effects VALUES (?)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stmt.ExecContext(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if err := stmt.Close(); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM effects").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
	if got := effects(t, tx); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("effects %v", got)
	}
	if err := tx.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := under.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if got := effects(t, db); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("after the commit: %v", got)
	}
}

// every method that takes a statement.
func everyStatement(tx *headrace.Tx, query string) map[string]error {
	_, exec := tx.ExecContext(ctx, query)
	stmt, prepare := tx.PrepareContext(ctx, query)
	if stmt != nil {
		_ = stmt.Close()
	}
	rows, q := tx.QueryContext(ctx, query)
	if rows != nil {
		_ = errors.Join(rows.Err(), rows.Close())
	}
	return map[string]error{"Exec": exec, "Prepare": prepare, "Query": q, "QueryRow": tx.QueryRowContext(ctx, query).Err()}
}

// DESIGN §3 Batches, fault 8: a handler that ends its transaction is refused,
// and the message fails even if the handler passes over the error.
func TestTxRefuses(t *testing.T) {
	db := database(t)
	for _, query := range []string{"COMMIT", "SELECT 1; ROLLBACK", "SAVEPOINT a"} {
		for _, o := range []headrace.TxOptions{{}, alone} {
			tx, under := handlerTx(t, db, o)
			for name, err := range everyStatement(tx, query) {
				if !errors.Is(err, headrace.ErrForbidden) {
					t.Errorf("%s of %q: %v", name, query, err)
				}
			}
			if err := insert(ctx, tx, 1); err != nil {
				t.Errorf("after the refusal: %v", err)
			}
			if err := tx.Close(); !errors.Is(err, headrace.ErrForbidden) {
				t.Errorf("close: %v", err)
			}
			under.Rollback()
		}
	}
}

//evidence:session
func TestTxSharedRefusesSessionState(t *testing.T) {
	db := database(t)
	tx, _ := handlerTx(t, db, headrace.TxOptions{})
	if _, err := tx.ExecContext(ctx, "PRAGMA case_sensitive_like = 1"); !errors.Is(err, headrace.ErrForbidden) {
		t.Errorf("shared: %v", err)
	}
	if _, err := tx.SQL(); !errors.Is(err, headrace.ErrNotAlone) {
		t.Errorf("SQL, shared: %v", err)
	}
	if err := tx.Raw(func(any) error { return nil }); !errors.Is(err, headrace.ErrNotAlone) {
		t.Errorf("Raw, shared: %v", err)
	}
	tx, under := handlerTx(t, db, alone)
	if _, err := tx.ExecContext(ctx, "PRAGMA case_sensitive_like = 1"); err != nil {
		t.Errorf("alone: %v", err)
	}
	if got, err := tx.SQL(); got != under.SQL() || err != nil {
		t.Errorf("SQL, alone: %v, %v", got, err)
	}
	called := false
	if err := tx.Raw(func(c any) error { called = c != nil; return nil }); err != nil || !called {
		t.Errorf("Raw, alone: %v, %v", called, err)
	}
}

// Fault 8: a goroutine that a handler left behind cannot write into the next
// handler's part of the transaction.
//
//evidence:left-behind
func TestTxAfterTheHandler(t *testing.T) {
	tx, _ := handlerTx(t, database(t), alone)
	if err := tx.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	errs := everyStatement(tx, "SELECT 1")
	errs["Publish"] = tx.Publish(headrace.Event{Topic: "t", Value: 1})
	errs["Nested"] = tx.Nested(ctx, func(context.Context, *headrace.Tx) error { t.Error("it ran"); return nil })
	errs["Raw"] = tx.Raw(func(any) error { t.Error("it ran"); return nil })
	_, errs["SQL"] = tx.SQL()
	for name, err := range errs {
		if !errors.Is(err, headrace.ErrTxDone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The handler's context has ended too, and the reason must show all the same.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := tx.QueryRowContext(ended, "SELECT 1").Err(); !errors.Is(err, headrace.ErrTxDone) {
		t.Errorf("QueryRow with an ended context: %v", err)
	}
}

// An engine closes the Tx of a handler that is stuck, and the handler may wake at
// that moment. The race detector watches.
func TestTxCloseWhileInUse(t *testing.T) {
	tx, _ := handlerTx(t, database(t), headrace.TxOptions{})
	var both sync.WaitGroup
	both.Go(func() { _, _ = tx.ExecContext(ctx, "COMMIT") })
	both.Go(func() { _ = tx.Close() })
	both.Wait()
}

func TestPublish(t *testing.T) {
	trace := headrace.TraceContext{Parent: "p", State: "s"}
	own := headrace.TraceContext{Parent: "own"}
	tx, _ := handlerTx(t, database(t), headrace.TxOptions{Trace: trace})
	value, payload, metadata := map[string]int{"a": 1}, []byte("payload"), map[string]string{"k": "v"}
	err := tx.Publish(headrace.Event{Topic: "t", Value: value}, headrace.Event{Topic: "u", Payload: payload, Metadata: metadata, Trace: own})
	if err != nil {
		t.Fatal(err)
	}
	value["a"], payload[0], metadata["k"] = 2, 'X', "changed"
	es := tx.Events()
	if len(es) != 2 || string(es[0].Payload) != `{"a":1}` || string(es[1].Payload) != "payload" || es[1].Metadata["k"] != "v" {
		t.Errorf("events %+v", es)
	}
	if es[0].ID == "" || es[0].ID == es[1].ID || es[0].Trace != trace || es[1].Trace != own {
		t.Errorf("events %+v", es)
	}
	if err := tx.Publish(); err != nil {
		t.Errorf("nothing: %v", err)
	}
	// All or none of a call.
	if err := tx.Publish(headrace.Event{Topic: "t", Value: 1}, headrace.Event{}); !errors.Is(err, headrace.ErrInvalidEvent) {
		t.Errorf("an event without a topic: %v", err)
	}
	if len(tx.Events()) != 2 {
		t.Errorf("%d events", len(tx.Events()))
	}
}

func TestPublishEncodesWithTheCodec(t *testing.T) {
	tx, _ := handlerTx(t, database(t), headrace.TxOptions{Encoder: encoder{[]byte("own"), nil}})
	if err := tx.Publish(headrace.Event{Topic: "t", Value: 1}); err != nil || string(tx.Events()[0].Payload) != "own" {
		t.Errorf("%v, %v", tx.Events(), err)
	}
}

// A Tx is what libraries for SQL take.
var (
	_ headrace.DBTX = (*headrace.Tx)(nil)
	_ headrace.DBTX = (*sql.Tx)(nil)
	_ headrace.DBTX = (*sql.DB)(nil)
	_ headrace.DBTX = (*sql.Conn)(nil)
)
