package pgstore

import (
	"context"
	"crypto/sha256"
	_ "embed" // the statements
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store/postgres"
)

var (
	//go:embed queries/reset.sql
	reset string
	//go:embed queries/calm.sql
	calm string
)

// New returns a migrated schema, and a DSN whose search_path it is. It may have served other
// tests; nothing is left of that. A test of migrations, or of a schema without tables, calls
// [pgtest.New] instead. Call it before opening what uses the schema, as pgtest.New.
func New(tb testing.TB) (dsn, schema string) {
	tb.Helper()
	kind, err := build()
	if err != nil {
		tb.Fatalf("pgstore: %v", err)
	}
	return pgtest.Spares{Kind: kind, Fill: fill, Reset: reset}.New(tb)
}

// build names what migrations of this build make.
var build = sync.OnceValues(func() (string, error) {
	if os.Getenv(pgtest.Variable) == "" {
		return "", nil // the test is skipped
	}
	st, err := postgres.Open(context.Background(), os.Getenv(pgtest.Variable), postgres.Options{Schema: "headrace_spares", Unchecked: true})
	if err != nil {
		return "", err
	}
	defer st.Close()
	scripts, err := st.Migrations(context.Background())
	hash := sha256.New()
	for _, s := range scripts {
		fmt.Fprintln(hash, s.SQL)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), err
})

// fill migrates a schema.
func fill(dsn, schema string) error {
	st, err := postgres.Open(context.Background(), dsn, postgres.Options{Schema: schema, Migrate: true, MaxConns: 1})
	if err != nil {
		return err
	}
	_, err = st.DB().ExecContext(context.Background(), calm)
	return errors.Join(err, st.Close())
}
