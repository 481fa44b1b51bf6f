package inbox

import (
	"context"
	"fmt"
	"iter"
)

// Finder finds what was never taken. Drivers implement it.
type Finder interface {
	// Missing returns those of keys, in their order, that have no row in scope. A key
	// that no row can have is missing.
	Missing(ctx context.Context, scope string, keys []string) ([]string, error)
}

// missingBatch is how many keys one statement asks for.
const missingBatch = 1000

// Missing compares with a source of truth: it returns those of keys, in their order,
// that have no row in scope, which is "consumer/handler". Such a message was never
// delivered, or has not arrived yet, or is longer ago than retention keeps; one
// that waits, is dead or was discarded is not missing. Ask for what is older than a
// delivery takes and younger than the window.
//
// keys is read once, in batches, so that it may come from a cursor; what is missing is
// held in memory. With an error it returns what was found missing before it.
func Missing(ctx context.Context, f Finder, scope string, keys iter.Seq[string]) ([]string, error) {
	var missing []string
	batch := make([]string, 0, missingBatch)
	ask := func() error {
		found, err := f.Missing(ctx, scope, batch)
		if err != nil {
			return fmt.Errorf("look for missing keys: %w", err)
		}
		missing, batch = append(missing, found...), batch[:0]
		return nil
	}
	for key := range keys {
		if batch = append(batch, key); len(batch) == missingBatch {
			if err := ask(); err != nil {
				return missing, err
			}
		}
	}
	if len(batch) == 0 {
		return missing, nil
	}
	err := ask()
	return missing, err
}
