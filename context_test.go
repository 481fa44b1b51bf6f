package headrace_test

import (
	"context"
	"errors"
	"testing"

	"github.com/headrace/headrace"
)

func TestTxTravelsInTheContext(t *testing.T) {
	tx := headrace.NewTx(nil, headrace.TxOptions{})
	if got, ok := headrace.TxFrom(headrace.WithTx(context.Background(), tx)); !ok || got != tx {
		t.Errorf("TxFrom gives %v, %t", got, ok)
	}
	for _, ctx := range []context.Context{context.Background(), headrace.WithTx(context.Background(), nil)} {
		if _, ok := headrace.TxFrom(ctx); ok {
			t.Error("TxFrom found a transaction where there is none")
		}
	}
}

// A handler that passes over TxFrom's second result meets an error, not a panic.
func TestNoTxIsAnError(t *testing.T) {
	ctx := context.Background()
	tx, _ := headrace.TxFrom(ctx)
	_, exec := tx.ExecContext(ctx, "SELECT 1")
	_, query := tx.QueryContext(ctx, "SELECT 1")
	_, prepare := tx.PrepareContext(ctx, "SELECT 1")
	_, newer := tx.Newer(ctx, "entity", 1)
	_, raw := tx.SQL()
	for name, err := range map[string]error{
		"ExecContext": exec, "QueryContext": query, "PrepareContext": prepare, "QueryRowContext": tx.QueryRowContext(ctx, "SELECT 1").Err(),
		"Newer": newer, "SQL": raw, "Raw": tx.Raw(nil), "Nested": tx.Nested(ctx, nil), "Publish": tx.Publish(headrace.Event{Topic: "t", Value: 1}),
	} {
		if !errors.Is(err, headrace.ErrNoTx) {
			t.Errorf("%s: %v, want ErrNoTx", name, err)
		}
	}
}
