package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
)

var _ inbox.Finder = (*inboxStore)(nil)

// Missing implements inbox.Finder.
func (s *inboxStore) Missing(ctx context.Context, scope string, keys []string) ([]string, error) {
	asked := make([]string, 0, len(keys))
	for _, key := range keys {
		if encode.Clean(key) { // no row holds another
			asked = append(asked, key)
		}
	}
	if len(asked) == 0 || !encode.Clean(scope) {
		return slices.Clone(keys), nil
	}
	missing, err := collect(ctx, s.plan.on(s.db), s.missing, []any{scope, pq.Array(asked)}, func(key *string) []any { return []any{key} })
	if err != nil {
		return nil, fmt.Errorf("find missing messages: %w", err)
	}
	if len(asked) == len(keys) {
		return missing, nil
	}
	known := make(map[string]bool, len(asked))
	for _, key := range asked {
		known[key] = true
	}
	for _, key := range missing {
		known[key] = false
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return known[key] }), nil
}
