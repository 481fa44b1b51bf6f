package sqlite

import (
	"errors"
	"testing"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// A transaction that ends with an error of the caller leaves the connection as it was: the next one works.
func TestTransactAfterAnError(t *testing.T) {
	st, _ := setup(t)
	refused := errors.New("refused")
	for range 20 {
		if err := store.Transact(t.Context(), st, func(*txn.Txn) error { return refused }); !errors.Is(err, refused) {
			t.Fatal(err)
		}
		err := store.Transact(t.Context(), st, func(tx *txn.Txn) error {
			_, err := tx.ExecContext(t.Context(), "SELECT 1")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
