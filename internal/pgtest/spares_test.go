package pgtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// small makes a little of each thing that a schema may hold. Its kind is the test's own, so that
// no other test takes what this one gives; they are dropped when the test ends.
func small(t *testing.T) Spares {
	s := Spares{
		Kind: "a test " + rand.Text(),
		Fill: func(dsn, schema string) error {
			return session(dsn, func(ctx context.Context, conn *pgx.Conn) error {
				_, err := conn.Exec(ctx, `CREATE TABLE headrace_a (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int DEFAULT 1 CHECK (n > 0), s text);
				CREATE INDEX headrace_a_n ON headrace_a (n);
				CREATE SEQUENCE headrace_s START 5;
				CREATE TABLE headrace_b (word text);
				CREATE FUNCTION headrace_f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO headrace_b VALUES (''fired''); RETURN NEW; END';
				CREATE TRIGGER headrace_t AFTER INSERT OR DELETE ON headrace_a FOR EACH ROW EXECUTE FUNCTION headrace_f(); INSERT INTO headrace_b VALUES ('filled')`)
				return err
			})
		},
		Reset: "INSERT INTO {{schema}}.headrace_b VALUES ('reset')",
	}
	server := serverURL(t).String()
	t.Cleanup(func() {
		for schema := "all"; schema != ""; {
			err := session(server, func(ctx context.Context, conn *pgx.Conn) (err error) {
				schema, _, err = s.take(ctx, conn)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if schema != "" {
				run(t, server, dropSchema, schema)
			}
		}
	})
	return s
}

// taken is a schema of s, a handle on it, and what gives it back.
func taken(t *testing.T, s Spares) (db *sql.DB, schema string, give func()) {
	t.Helper()
	tb := &fakeTB{TB: t}
	dsn, schema := s.New(tb)
	return OpenDB(tb, "postgres", dsn), schema, tb.finish
}

func must(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// What a test leaves in a spare schema, the next one does not see: rows, sequences, its own tables,
// functions and triggers, open sessions.
func TestSpareIsEmpty(t *testing.T) {
	t.Parallel()
	s := small(t)
	db, first, give := taken(t, s)
	must(t, db, "INSERT INTO headrace_a (n) VALUES (7), (8)", "DELETE FROM headrace_b", "SELECT nextval('headrace_s'), nextval('headrace_s')",
		"CREATE TYPE mood AS ENUM ('fine')", "CREATE TABLE effects (id serial, m mood)", "CREATE VIEW seen AS SELECT * FROM effects", "CREATE SEQUENCE mine",
		"CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no''; END'",
		"CREATE TRIGGER fail BEFORE INSERT ON headrace_a FOR EACH ROW EXECUTE FUNCTION fail()")
	left, err := sql.Open("postgres", within(serverURL(t), first))
	if err != nil {
		t.Fatal(err)
	}
	defer left.Close()
	held, err := left.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := held.ExecContext(t.Context(), "BEGIN; INSERT INTO headrace_b VALUES ('late')"); err != nil {
		t.Fatal(err)
	}
	give()

	db, second, give := taken(t, s)
	defer give()
	if second != first {
		t.Fatal("the schema was not given out again")
	}
	if _, err := held.ExecContext(t.Context(), "COMMIT"); err == nil {
		t.Error("a session of the test before is still open")
	}
	for _, tc := range []struct {
		query string
		want  int
	}{
		{"SELECT count(*) FROM headrace_a", 0},
		{"SELECT count(*) FROM headrace_b WHERE word = 'reset'", 1},
		{"SELECT count(*) FROM headrace_b", 1},
		{"SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace", 6},
		{"SELECT count(*) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace", 1},
		{"SELECT count(*) FROM pg_type WHERE typnamespace = current_schema()::regnamespace", 4}, // of two tables
		{"SELECT count(*) FROM pg_trigger WHERE tgrelid = 'headrace_a'::regclass", 1},
		{"SELECT nextval('headrace_s')", 5},
		{"WITH i AS (INSERT INTO headrace_a (n) VALUES (1) RETURNING id) SELECT id FROM i", 1},
	} {
		if got := count(t, db, tc.query); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.query, got, tc.want)
		}
	}
}

// A schema that a test has changed is dropped.
func TestChangedSchemaIsNoSpare(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"CREATE INDEX ON headrace_a (s)", "INSERT INTO headrace_a (n) VALUES (1); ANALYZE headrace_a", "DROP TABLE headrace_b", "DROP SCHEMA {{name}} CASCADE"} {
		s := small(t)
		db, first, give := taken(t, s)
		must(t, db, named(change, first))
		give()
		db, second, give := taken(t, s)
		if n := count(t, db, "SELECT count(*) FROM pg_namespace WHERE nspname = $1", first); n != 0 || second == first {
			t.Errorf("%s: the schema is still there", change)
		}
		give()
	}
}

// Every change of a schema shows in its print. Each is rolled back, and does not show then.
func TestPrintShowsChanges(t *testing.T) {
	t.Parallel()
	db, schema, give := taken(t, small(t))
	defer give()
	var role string
	if err := db.QueryRowContext(t.Context(), "SELECT current_user").Scan(&role); err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{
		"ALTER TABLE headrace_a ADD COLUMN x int",
		"ALTER TABLE headrace_a DROP COLUMN s",
		"ALTER TABLE headrace_a ALTER n SET NOT NULL",
		"ALTER TABLE headrace_a ALTER n SET DEFAULT 2",
		"ALTER TABLE headrace_a ALTER n DROP DEFAULT",
		"ALTER TABLE headrace_a ALTER n SET STATISTICS 9",
		"ALTER TABLE headrace_a RENAME n TO m",
		"ALTER TABLE headrace_a RENAME TO headrace_c",
		"ALTER TABLE headrace_a DROP CONSTRAINT headrace_a_n_check",
		"ALTER TABLE headrace_a ADD CHECK (n < 9)",
		"ALTER TABLE headrace_a SET (fillfactor = 50)",
		"ALTER TABLE headrace_a SET UNLOGGED",
		"ALTER TABLE headrace_a DISABLE TRIGGER headrace_t",
		"ALTER TABLE headrace_a ENABLE ROW LEVEL SECURITY",
		"ALTER TABLE headrace_a OWNER TO pg_monitor",
		"CREATE POLICY p ON headrace_a USING (true)",
		"CREATE RULE r AS ON INSERT TO headrace_a DO NOTHING",
		"CREATE TRIGGER headrace_u BEFORE UPDATE ON headrace_a FOR EACH ROW EXECUTE FUNCTION headrace_f()",
		"CREATE STATISTICS headrace_x ON n, s FROM headrace_a",
		"CREATE TABLE headrace_mine ()",
		"DROP INDEX headrace_a_n",
		"DROP TRIGGER headrace_t ON headrace_a",
		"ALTER SEQUENCE headrace_s INCREMENT 2",
		"CREATE OR REPLACE FUNCTION headrace_f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
		"ALTER FUNCTION headrace_f() SET work_mem = '1MB'",
		"GRANT EXECUTE ON FUNCTION headrace_f() TO pg_monitor",
		"GRANT SELECT ON headrace_a TO pg_monitor",
		"GRANT SELECT (n) ON headrace_a TO pg_monitor",
		"GRANT USAGE ON SEQUENCE headrace_s TO pg_monitor",
		"GRANT USAGE ON SCHEMA {{name}} TO pg_monitor",
		"ALTER DEFAULT PRIVILEGES IN SCHEMA {{name}} GRANT SELECT ON TABLES TO pg_monitor",
	} {
		before := printOf(t, db, schema)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), named(change, schema)); err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		if printOf(t, tx, schema) == before {
			t.Errorf("%s: does not show", change)
		}
		_ = tx.Rollback()
		if printOf(t, db, schema) != before {
			t.Fatalf("%s: was rolled back, and shows", change)
		}
	}
}

func printOf(t *testing.T, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, schema string) (print string) {
	t.Helper()
	if err := q.QueryRowContext(t.Context(), sparePrint, schema).Scan(&print); err != nil {
		t.Fatal(err)
	}
	return print
}

// Many at once: no two tests have one schema at the same time.
func TestSparesAreApart(t *testing.T) {
	t.Parallel()
	s := small(t)
	t.Run("", func(t *testing.T) {
		for i := range 12 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				db, _, give := taken(t, s)
				defer give()
				must(t, db, fmt.Sprintf("INSERT INTO headrace_a (n) VALUES (%d)", i+1))
				if n := count(t, db, "SELECT sum(n) FROM headrace_a"); n != i+1 {
					t.Errorf("%d, want %d", n, i+1)
				}
			})
		}
	})
}
