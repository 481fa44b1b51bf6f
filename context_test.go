package headrace_test

import (
	"context"
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
