package inbox

import (
	"context"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// Pruned counts what a batch removed.
type Pruned struct {
	Messages int64 // rows of the inbox, with their attempts
	Letters  int64 // letters that were closed, with their audit rows
	More     bool  // the batch was full
}

// Retention removes what is old, and finds what is missing. Drivers implement it.
type Retention interface {
	// Prune removes at most limit messages of consumer (empty: of all) whose last
	// transition is older than age by the database's clock and that no backlog row or
	// open letter needs. Another process that prunes at the same time makes it return
	// with nothing.
	Prune(ctx context.Context, t *txn.Txn, consumer string, age time.Duration, limit int) (Pruned, error)
	// Missing returns those of keys, in their order, that have no row in scope.
	Missing(ctx context.Context, scope string, keys []string) ([]string, error)
}
