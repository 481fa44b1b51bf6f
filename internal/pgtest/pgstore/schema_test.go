package pgstore

import (
	"crypto/rand"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store/postgres"
)

// described is what one can see of a schema: definitions, rights, the rows of each table and where its sequences are.
const described = `
SELECT 'table', relname || ' ' || relkind::text || ' ' || coalesce(relacl::text, '') || ' ' || coalesce(reloptions::text, ''),
	CASE relkind WHEN 'r' THEN query_to_xml('SELECT count(*) FROM ' || oid::regclass, false, false, '')::text || reltuples || ' ' || relpages
		WHEN 'S' THEN query_to_xml('SELECT last_value, is_called, log_cnt FROM ' || oid::regclass, false, false, '')::text ELSE '' END
FROM pg_class WHERE relnamespace = current_schema()::regnamespace
UNION ALL
SELECT 'column', attrelid::regclass || '.' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull, coalesce(pg_get_expr(adbin, adrelid), '')
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attnum > 0 AND attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
UNION ALL
SELECT 'constraint', conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
UNION ALL
SELECT 'index', indrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
UNION ALL
SELECT 'trigger', tgrelid::regclass::text, pg_get_triggerdef(t.oid) FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = tgrelid WHERE relnamespace = current_schema()::regnamespace
UNION ALL
SELECT 'function', proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
UNION ALL
SELECT 'type', typname, '' FROM pg_type WHERE typnamespace = current_schema()::regnamespace
UNION ALL
SELECT 'analyzed', starelid::regclass::text, '' FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
UNION ALL
SELECT 'meta', '', (to_jsonb(m) - 'id')::text FROM headrace_meta AS m
ORDER BY 1, 2, 3`

func describe(t *testing.T, db *sql.DB, schema string) (text string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), described)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var kind, name, says string
		if err := rows.Scan(&kind, &name, &says); err != nil {
			t.Fatal(err)
		}
		text += strings.ReplaceAll(kind+" "+name+" "+says, schema, "SCHEMA") + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return text
}

// A schema that has served a test is as one that was just migrated.
func TestUsedSchemaIsAsFresh(t *testing.T) {
	spares := pgtest.Spares{Kind: "a test " + rand.Text(), Fill: fill, Reset: reset}
	var first, fresh, id string
	t.Run("use", func(t *testing.T) {
		dsn, schema := spares.New(t)
		db := pgtest.OpenDB(t, "postgres", dsn)
		first, fresh = schema, describe(t, db, schema)
		if err := db.QueryRowContext(t.Context(), "SELECT id FROM headrace_meta").Scan(&id); err != nil {
			t.Fatal(err)
		}
		if err := pgtest.ShiftClock(t.Context(), db, time.Hour); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			"INSERT INTO headrace_inbox (scope, key, state, fingerprint) SELECT 's', n::text, 'done', '' FROM generate_series(1, 500) AS n",
			"INSERT INTO headrace_audit (subject_kind, subject, action, by_whom, reason) VALUES ('letter', '1', 'discard', 'me', '')",
			"DELETE FROM headrace_audit",
			"SELECT setval(oid::regclass, 77) FROM pg_class WHERE relkind = 'S' AND relnamespace = current_schema()::regnamespace",
			"UPDATE headrace_meta SET suspect_by = 'me', suspect_until = now()",
			"CREATE TABLE effects (id serial)",
			"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no''; END'",
			"CREATE TRIGGER refuse BEFORE INSERT ON headrace_outbox FOR EACH ROW EXECUTE FUNCTION refuse()",
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		if describe(t, db, schema) == fresh {
			t.Fatal("the test changed nothing")
		}
	})
	t.Run("again", func(t *testing.T) {
		dsn, schema := spares.New(t)
		if schema != first {
			t.Fatal("the schema was not given out again")
		}
		db := pgtest.OpenDB(t, "postgres", dsn)
		if diff := cmp.Diff(fresh, describe(t, db, schema)); diff != "" {
			t.Error(diff)
		}
		var now string
		if err := db.QueryRowContext(t.Context(), "SELECT id FROM headrace_meta").Scan(&now); err != nil || now == id {
			t.Errorf("the database has the id %q of the one before, %v", now, err)
		}
		Open(t, dsn, postgres.Options{Schema: schema})
		// No other test takes a schema of this kind.
		if _, err := db.ExecContext(t.Context(), "DROP TABLE headrace_meta"); err != nil {
			t.Fatal(err)
		}
	})
}
