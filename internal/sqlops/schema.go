package sqlops

import (
	"context"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Schema implements store.Schema.
type Schema struct {
	sqlrun.Table[struct{ Read, Renew string }]
	// Name is the schema's name, "" for none, and Scripts the migrations that this build needs.
	Name    string
	Scripts []migrate.Script
}

func (s *Schema) Check(ctx context.Context) (id string, err error) {
	defer sqlrun.Wrap("check the schema", &err)
	row, err := migrate.Scan(s.Reader().QueryRowContext(ctx, s.SQL.Read))
	if err != nil {
		return "", err
	}
	return row.ID, migrate.Fits(row, s.Scripts, s.Name)
}

func (s *Schema) NewID(ctx context.Context) (id string, err error) {
	defer sqlrun.Wrap("give the database a new id", &err)
	err = s.Transact(ctx, func(t *txn.Txn) error { return t.QueryRowContext(ctx, s.SQL.Renew).Scan(&id) })
	return id, err
}
