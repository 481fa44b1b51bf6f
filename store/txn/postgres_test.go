package txn_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	_ "github.com/lib/pq"

	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store/txn"
)

func begin(t *testing.T, db *sql.DB, o txn.Options) *txn.Txn {
	t.Helper()
	tx, err := txn.Begin(context.Background(), db, o)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// A table that gets a column while statements on it are cached: PostgreSQL refuses
// the old plan (0A000) on every connection that has it, each time. Here the statement
// is forgotten, and the run after that succeeds.
func TestStatementsAfterSchemaChange(t *testing.T) {
	dsn, schema := pgtest.New(t)
	db := pgtest.OpenDB(t, "postgres", dsn)
	ctx := context.Background()
	exec := func(query string) {
		t.Helper()
		if _, err := db.ExecContext(ctx, query); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TABLE "` + schema + `".things (id int)`)
	exec(`INSERT INTO "` + schema + `".things VALUES (1)`)
	statements := txn.NewStatements(db, 8)
	defer statements.Close()
	query := `SELECT * FROM "` + schema + `".things WHERE id = $1`
	run := func() (columns int, err error) {
		tx := begin(t, db, txn.Options{Statements: statements})
		defer tx.Rollback()
		rows, err := tx.QueryContext(ctx, query, 1)
		if err != nil {
			return 0, err
		}
		defer func() { _ = rows.Close() }()
		names, err := rows.Columns()
		for rows.Next() {
		}
		return len(names), cmpErr(err, rows.Err())
	}
	for range 5 {
		if n, err := run(); n != 1 || err != nil {
			t.Fatalf("%d columns, %v", n, err)
		}
	}
	exec(`ALTER TABLE "` + schema + `".things ADD COLUMN name text`)
	_, err := run()
	if err == nil {
		t.Fatal("the statement was not cached, so nothing is tested")
	}
	if c := txn.Classify(err); c != txn.Serialization {
		t.Errorf("%v is of class %v: it would cost an attempt", err, c)
	}
	for range 5 {
		if n, err := run(); n != 2 || err != nil {
			t.Fatalf("after the change: %d columns, %v", n, err)
		}
	}
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// After its time a statement is prepared anew by the server, with pgx too, which has one
// for each text; the one before is gone, so that they do not pile up.
func TestServerPreparesAnew(t *testing.T) {
	for _, driver := range []string{"postgres", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			dsn, _ := pgtest.New(t)
			db := pgtest.OpenDB(t, driver, dsn)
			db.SetMaxOpenConns(1)
			statements := txn.NewStatements(db, 8)
			defer statements.Close()
			o := txn.Options{Statements: statements, Cached: func(query string) bool { return query == "SELECT $1::int + 1" }}
			run := func() (prepared int, latest float64) {
				tx := begin(t, db, o)
				defer tx.Rollback()
				var n int
				if err := tx.QueryRowContext(t.Context(), "SELECT $1::int + 1", 1).Scan(&n); err != nil {
					t.Fatal(err)
				}
				err := tx.SQL().QueryRowContext(t.Context(), `SELECT count(*), coalesce(extract(epoch FROM max(prepare_time)), 0)
					FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1::int + 1%'`).Scan(&prepared, &latest)
				if err != nil {
					t.Fatal(err)
				}
				return prepared, latest
			}
			for range 3 {
				run()
			}
			_, before := run()
			for range 4 {
				statements.Grow(txn.Replan + time.Second)
				run() // learns it
				statements.AwaitClosed()
				prepared, latest := run()
				if latest <= before || prepared > 3 { // this one, the one before, and one that pgx prepared by itself
					t.Errorf("%d statements, the latest at %f, and %f before", prepared, latest, before)
				}
				before = latest
			}
		})
	}
}
