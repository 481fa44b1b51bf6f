package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/postgres"
)

// A consumer's few rows among many of others, written against the order of their keys:
// a walk by the key's index would skip those below the last place of a batch.
func TestPruneWalksByPlace(t *testing.T) {
	t.Parallel()
	b := setup(t, "open", "", postgres.Options{})
	for consumer, rows := range map[string]int{"other": 20000, "billing": 100} {
		b.exec(fmt.Sprintf(`INSERT INTO headrace_inbox (scope, key, fingerprint, changed_at)
			SELECT '%s/h', lpad((100000 - n)::text, 6, '0') || repeat('x', 200), 'f', now() - interval '1 year'
			FROM generate_series(1, %d) AS n`, consumer, rows))
	}
	b.exec("ANALYZE headrace_inbox")
	r := inbox.PruneRequest{Consumer: "billing", Plan: inbox.Plan{Window: 48 * time.Hour, DeadLetters: 48 * time.Hour}, Limit: 10}
	var gone int64
	for {
		done, err := b.Operations().Pruner.Messages(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		gone += done.Messages
		if r.From = done.Next; r.From == "" {
			break
		}
	}
	if gone != 100 {
		t.Errorf("one walk removed %d of 100", gone)
	}
}
