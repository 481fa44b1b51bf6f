package sqlite

import (
	"context"
	"fmt"
	"slices"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
)

var _ inbox.Finder = (*inboxStore)(nil)

// Missing implements inbox.Finder.
func (i *inboxStore) Missing(ctx context.Context, scope string, keys []string) ([]string, error) {
	asked := make([]string, 0, len(keys))
	for _, key := range keys {
		if encode.Clean(key) { // no row holds another
			asked = append(asked, key)
		}
	}
	if len(asked) == 0 || !encode.Clean(scope) {
		return slices.Clone(keys), nil
	}
	all, err := list(asked)
	if err != nil {
		return nil, err
	}
	missing, err := collect(ctx, i.s.read, i.missing, []any{scope, all}, func(row scanner) (key string, err error) {
		err = row.Scan(&key)
		return key, err
	})
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
