package inbox

import (
	"context"
	"fmt"
	"iter"
)

// Finder finds keys that the inbox never had. Drivers implement it.
type Finder interface {
	// Missing returns those of keys, in their order, that have no row in scope. An
	// invalid key is missing.
	Missing(ctx context.Context, scope string, keys []string) ([]string, error)
	// Scopes returns the scopes that have rows, sorted. It looks at one row of each.
	Scopes(ctx context.Context) ([]string, error)
}

// missingBatch is how many keys one statement asks for.
const missingBatch = 1000

// Missing compares the inbox with a source of truth: it returns those of keys, in their
// order, that have no row in scope ("consumer/handler"). Those messages were never
// delivered, are not delivered yet, or are older than retention. It reads keys once, in
// batches, and holds the missing ones in memory. With an error it returns the ones found
// before.
func Missing(ctx context.Context, f Finder, scope string, keys iter.Seq[string]) ([]string, error) {
	var missing []string
	next, stop := iter.Pull(keys)
	defer stop()
	for more := true; more; {
		var batch []string
		for key := ""; len(batch) < missingBatch; batch = append(batch, key) {
			if key, more = next(); !more {
				break
			}
		}
		if len(batch) == 0 {
			break
		}
		found, err := f.Missing(ctx, scope, batch)
		if err != nil {
			return missing, fmt.Errorf("look for missing keys: %w", err)
		}
		missing = append(missing, found...)
	}
	return missing, nil
}
