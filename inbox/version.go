package inbox

import (
	"context"

	"github.com/headrace/headrace/store/txn"
)

// Versions remember the newest version that was applied of each entity. Drivers
// implement it.
type Versions interface {
	// Newer raises the version of entity in scope to version, and reports whether it
	// was lower or there was none; false leaves it as it is. It locks the entity's row
	// until t ends.
	Newer(ctx context.Context, t *txn.Txn, scope, entity string, version int64) (bool, error)
}
