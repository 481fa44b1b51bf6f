package inbox_test

import (
	"errors"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

// Outside of a consumer's handler it is not known whose versions are meant; after the
// handler nothing may be done.
func TestNewerNeedsAHandler(t *testing.T) {
	tx := headrace.NewTx(nil, headrace.TxOptions{})
	err := inbox.Newer(t.Context(), tx, "order 7", 1)
	if !errors.Is(err, headrace.ErrNoScope) || errors.Is(err, inbox.ErrStale) {
		t.Errorf("without a scope: %v", err)
	}
	_ = tx.Close()
	if err := inbox.Newer(t.Context(), tx, "order 7", 1); !errors.Is(err, headrace.ErrTxDone) {
		t.Errorf("after the handler: %v", err)
	}
}
