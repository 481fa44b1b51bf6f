package inbox

import (
	"context"
	"fmt"

	"github.com/headrace/headrace"
)

// Versions store the newest applied version of each entity. Drivers implement it.
type Versions = headrace.Versions

// Newer protects against messages out of order. It returns nil if version is newer than
// the applied version of entity in the scope of tx's handler, and stores it in the same
// transaction. Otherwise it returns ErrStale: return that error, and the message is done,
// counted as stale. Call it before the effects.
//
//	if err := inbox.Newer(ctx, tx, m.Body.OrderID, m.Body.Revision); err != nil {
//		return err
//	}
//
// Any integer that grows with each change of the entity can be the version: a revision,
// or a time of the source in microseconds. Another message with an equal version is
// stale. A redriven message is compared like any other. Newer waits while another
// transaction holds the entity. The row of an entity and scope is never pruned.
//
// The error matches headrace.ErrNoScope if tx is not that of a consumer's handler.
func Newer(ctx context.Context, tx *headrace.Tx, entity string, version int64) error {
	newer, err := tx.Newer(ctx, entity, version)
	if err != nil {
		return fmt.Errorf("version guard: %w", err)
	}
	if !newer {
		return ErrStale
	}
	return nil
}
