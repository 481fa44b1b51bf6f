package inbox

import (
	"context"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/store/txn"
)

// Versions remember the newest version that was applied of each entity. Drivers
// implement it.
type Versions interface {
	// Newer raises the version of entity in scope to version, and reports whether it
	// was lower or there was none; false leaves it as it is. It locks the entity's row
	// until t ends, and waits while another transaction holds it. entity has 1 to
	// MaxKeyBytes bytes of valid UTF-8 without NUL; any other is an error, before a
	// statement is sent.
	Newer(ctx context.Context, t *txn.Txn, scope, entity string, version int64) (bool, error)
}

// Newer is the guard against messages out of order. It returns nil if version is
// newer than what was applied of entity in the scope of the handler that tx is of,
// and remembers it in the same transaction; and ErrStale if it is not. Return that
// error: what the handler wrote is rolled back, and the message is done, counted as
// skipped. Call it before the effects.
//
//	if err := inbox.Newer(ctx, tx, m.Body.OrderID, m.Body.Revision); err != nil {
//		return err
//	}
//
// Any integer that goes up with each change of the entity serves as a version: a
// revision, or a time of the source in microseconds. Negative ones are versions as
// well. A redelivery of the message that set the version never comes here, since the
// inbox knows it; so another message with an equal version is stale. A redriven
// message is compared like any other.
//
// A run that is rolled back leaves no version behind, and nor does tx.Nested where
// its function fails. Of two processes with the same entity one waits until the
// other's transaction ends. Two transactions that take several entities in opposite
// order deadlock; the database ends one, and its messages are run again.
//
// The row of an entity is kept for good, one for each entity and scope: a version
// that was forgotten would let an old message through.
//
// The error matches headrace.ErrNoScope where tx is not of a consumer's handler. It
// is safe for concurrent use as far as tx is: by one goroutine at a time.
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
