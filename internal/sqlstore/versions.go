package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Versions implements inbox.Versions.
type Versions struct {
	sqlrun.Table[struct{ Newer string }]
}

// errEntity does not show the entity, which comes from a message.
var errEntity = errors.New("the entity is empty, or longer than a key may be")

func (s *Versions) Newer(ctx context.Context, t *txn.Txn, scope, entity string, version int64) (bool, error) {
	if entity == "" || len(entity) > inbox.MaxKeyBytes {
		return false, errEntity
	}
	if err := sqlrun.Identity(scope, entity); err != nil {
		return false, fmt.Errorf("the entity: %w", err)
	}
	n, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.Newer, scope, entity, version))
	sqlrun.Wrap("raise version", &err)
	return n == 1, err
}
