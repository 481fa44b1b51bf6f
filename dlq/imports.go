package dlq

import (
	"context"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Imports writes what comes from another database. Drivers implement it.
type Imports interface {
	// AddAttempts writes attempts with the N and At that they have there, except those whose N the
	// message has here. Without attempts it only checks that the login may write them.
	AddAttempts(ctx context.Context, t *txn.Txn, attempts []inbox.Attempt) error
}
