package headrace

import (
	"strings"
	"testing"
)

// DESIGN §3 Batches: a handler's Tx refuses statements that begin or end a
// transaction or set a savepoint.
//
//evidence:transaction
func TestForbidden(t *testing.T) {
	for query, want := range map[string]string{
		"BEGIN": "BEGIN", "begin;": "BEGIN", "START TRANSACTION": "START", "COMMIT": "COMMIT", "commit work": "COMMIT", "End": "END",
		"ROLLBACK": "ROLLBACK", "ROLLBACK TO SAVEPOINT headrace_nested": "ROLLBACK", "ABORT": "ABORT", "SAVEPOINT a": "SAVEPOINT",
		"RELEASE SAVEPOINT headrace_nested": "RELEASE", "PREPARE TRANSACTION 'x'": "PREPARE TRANSACTION", "prepare\n/**/transaction 'x'": "PREPARE TRANSACTION",
		"COMMIT PREPARED 'x'": "COMMIT",
		// What may stand before it.
		" \t\r\n\f\vCOMMIT": "COMMIT", ";;COMMIT": "COMMIT", "--\nCOMMIT": "COMMIT", "-- a\r\n-- b\nCOMMIT": "COMMIT", "--\rCOMMIT": "COMMIT",
		"/**/COMMIT": "COMMIT", "/* a /* b */ c */ COMMIT": "COMMIT", "/* a /* b */ COMMIT": "COMMIT", "/*/ */COMMIT": "COMMIT", "\ufeffCOMMIT": "COMMIT",
		"SELECT 1; COMMIT": "COMMIT", "SELECT 1;\n-- x\n;COMMIT": "COMMIT", "SELECT 1; SELECT 2; ROLLBACK; SELECT 3": "ROLLBACK",
		// Quotes end where the database ends them.
		"SELECT 'a'; COMMIT": "COMMIT", "SELECT 'it''s'; COMMIT": "COMMIT", `SELECT E'\''; COMMIT`: "COMMIT", `SELECT e'a''\'b'; COMMIT`: "COMMIT",
		`SELECT 'a\'; COMMIT`: "COMMIT", `SELECT "a;b"; COMMIT`: "COMMIT", "SELECT $$'$$; COMMIT": "COMMIT", "SELECT $a$ $$ ' $a$; COMMIT": "COMMIT",
		"SELECT $é$'$é$; COMMIT": "COMMIT", "SELECT a$b$ FROM c$b$; COMMIT": "COMMIT", "SELECT $1, $2; COMMIT": "COMMIT", "SELECT $1$; COMMIT": "COMMIT",
		"SELECT /* ' */ 1; COMMIT": "COMMIT", "SELECT 1 -- '\n; COMMIT": "COMMIT", "SELECT typee'a'; COMMIT": "COMMIT",
		"SELECT /* /* */ 1; COMMIT --*/": "COMMIT",
	} {
		if got := forbidden(query); got.verb != want || got.session {
			t.Errorf("%q: %+v, want %q", query, got, want)
		}
	}
}

func TestAllowed(t *testing.T) {
	for _, query := range []string{
		"", ";", " ", "--", "/*", "/**/", "SELECT 1", "(SELECT 1)", "INSERT INTO commits VALUES ('COMMIT')", "UPDATE t SET a = 'x; COMMIT'",
		`SELECT "; COMMIT"`, "SELECT $$; COMMIT$$", "SELECT $b$; COMMIT; $$ $b$, 1", "SELECT 1 -- ; COMMIT", "SELECT 1 /* ; COMMIT */",
		`SELECT E'\'; COMMIT'`, `SELECT E'a''b\'; COMMIT'`, "SELECT 1;", "SELECT 1; -- COMMIT", "SELECT 1; /* COMMIT */",
		"DECLARE c CURSOR FOR SELECT 1", "SELECT 'INTO TEMP'", "SELECT 1 /* INTO */ AS temp", "INSERT INTO temp SELECT 1", "WITH a AS (SELECT 1) INSERT INTO temp SELECT * FROM a", "WITH a AS (SELECT 1) SELECT * FROM a", "SELECT commit FROM begin", "COMMITTED", "COPY t FROM STDIN", "SELECT $1; SELECT $2",
		"SELECT 'unterminated; COMMIT", "SELECT $$unterminated; COMMIT", "LOCK TABLE t", "DO $$ BEGIN PERFORM 1; END $$", "SELECT 'a\\'",
		"DO $$ BEGIN UPDATE t SET a = 1; IF true THEN UPDATE t SET local = 2; END IF; PERFORM pg_advisory_xact_lock(1); END $$",
		"DO $$ BEGIN INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2; RAISE NOTICE 'set'; END $$", "SELECT $", "SELECT $$",
		"UPDATE t SET set = 1", "SELECT CASE WHEN a THEN b END",
	} {
		if got := forbidden(query); got.verb != "" {
			t.Errorf("%q is refused: %+v", query, got)
		}
	}
}

// Session state leaks into the next handler of a group.
//
//evidence:session
func TestForbiddenUnlessAlone(t *testing.T) {
	for _, query := range []string{
		"SET LOCAL search_path = a", "set timezone = 'UTC'", "RESET ALL", "DISCARD TEMP", "LISTEN a", "PRAGMA foreign_keys = 0",
		"ATTACH 'x' AS y", "DETACH y", "SELECT 1; SET ROLE other", "SELECT set_config('app.tenant', $1, true)",
		"SELECT 1 FROM pg_catalog.Set_Config('a', 'b', false)", "CREATE TEMP TABLE t (a int)", "create temporary view v AS SELECT 1",
		"PREPARE p AS SELECT 1", "DEALLOCATE ALL", "deallocate p", "LOAD 'auto_explain'", "SELECT 1 AS a INTO TEMP t", "WITH a AS (SELECT 1) SELECT * INTO /**/ LOCAL temporary t FROM a",
		"DO $$ BEGIN SET LOCAL search_path = a; END $$", "DO $$BEGIN PERFORM 1;set role a; END$$", "DO $$ BEGIN IF true THEN RESET ALL; END IF; END $$",
		"DO $$ BEGIN EXECUTE 'SET LOCAL ROLE ' || a; END $$", "DO $$ BEGIN EXECUTE format('SET ROLE %I', a); END $$", "DO LANGUAGE plpgsql 'BEGIN SET ROLE a; END'",
		"DO $$ BEGIN PERFORM pg_advisory_lock(1); END $$", "DO $$ BEGIN PERFORM pg_try_advisory_lock_shared(1); END $$", "DO $$ BEGIN CREATE TEMP TABLE t (a int); END $$",
		"DO $$ BEGIN PERFORM Set_Config('a', 'b', true); END $$",
		"DECLARE c CURSOR WITH HOLD FOR SELECT 1", "CREATE TABLE pg_temp.t (a int)", "SELECT 1; SELECT 1 INTO TEMP t",
	} {
		if got := forbidden(query); got.verb == "" || !got.session {
			t.Errorf("%q: %+v", query, got)
		}
	}
	if got := forbidden("SELECT set_config('a', 'b', true); COMMIT"); got.session {
		t.Errorf("the end of a transaction is allowed with consumer.Alone: %+v", got)
	}
}

// FuzzForbidden: any text ends, and a verb at the end is found whatever closed
// pieces stand before it.
func FuzzForbidden(f *testing.F) {
	for _, s := range []string{"SELECT 1", "'", `E'\'`, "$a$", "/* /*", "--", ";", "$", "é$é$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		forbidden(s)
		quoted := "SELECT '" + strings.ReplaceAll(s, "'", "''") + "'"
		if got := forbidden(quoted + "; COMMIT"); got.verb != "COMMIT" {
			t.Fatalf("%q; COMMIT: %+v", quoted, got)
		}
		if got := forbidden(quoted); got.verb != "" && got.verb != "set_config" {
			t.Fatalf("%q: %+v", quoted, got)
		}
	})
}

func BenchmarkForbidden(b *testing.B) {
	const query = `INSERT INTO invoices (order_id, total, currency, created_at) VALUES ($1, $2, $3, now()) ON CONFLICT (order_id) DO NOTHING RETURNING id`
	b.ReportAllocs()
	for b.Loop() {
		_ = forbidden(query)
	}
}
