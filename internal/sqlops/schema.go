package sqlops

import (
	"context"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Schema implements store.Schema.
type Schema struct {
	sqlrun.Table[struct {
		Read, Renew string
		Record      string `sql:"audit_record"`
	}]
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

func (s *Schema) NewID(ctx context.Context, by string) (id string, err error) {
	defer sqlrun.Wrap("give the database a new id", &err)
	err = s.Transact(ctx, func(t *txn.Txn) error {
		row, err := migrate.Scan(t.QueryRowContext(ctx, s.SQL.Read))
		if err != nil {
			return err
		}
		if err := t.QueryRowContext(ctx, s.SQL.Renew).Scan(&id); err != nil {
			return err
		}
		_, err = t.ExecContext(ctx, s.SQL.Record, sqlrun.Recorded(audit.Row{Kind: audit.Database, Subject: id, Action: "new-id", By: by, Detail: "it was " + row.ID})...)
		return err
	})
	return id, err
}
