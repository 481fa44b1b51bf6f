package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// versionStore implements inbox.Versions.
type versionStore struct{ newer string }

var _ inbox.Versions = (*versionStore)(nil)

func newVersions(q queries) *versionStore {
	return &versionStore{newer: q.get("versions_newer")}
}

// errEntity does not show the entity, which is a message's.
var errEntity = errors.New("the entity is empty, or longer than a key may be")

// Newer implements inbox.Versions.
func (s *versionStore) Newer(ctx context.Context, t *txn.Txn, scope, entity string, version int64) (bool, error) {
	if entity == "" || len(entity) > inbox.MaxKeyBytes {
		return false, errEntity
	}
	if err := identity(scope, entity); err != nil {
		return false, fmt.Errorf("the entity: %w", err)
	}
	result, err := t.ExecContext(ctx, s.newer, scope, entity, version)
	if err != nil {
		return false, fmt.Errorf("raise version: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("raise version: %w", err)
	}
	return n == 1, nil
}
