package redrive_test

import (
	"testing"

	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
)

func openPostgres(t *testing.T) store.Store {
	dsn, schema := pgstore.New(t)
	return pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true, MaxConns: 10})
}
