package archtest

import "testing"

var sourceCases = []ruleCase{
	{
		rule: "the domain starts no goroutine",
		files: map[string]string{
			"inbox/a.go":          "package inbox\nfunc f() {\n\tgo f()\n}",
			"inbox/a_test.go":     "package inbox\nfunc g() { go f() }",
			"store/txn/a.go":      "package txn\nfunc f() { go f() }",
			"internal/drain/a.go": "package drain\nfunc f() { go f() }",
		},
		want: []string{"inbox/a.go:3: starts a goroutine"},
	},
	{
		rule: "the judge is pure",
		files: map[string]string{
			"internal/judge/a.go": "package judge\nimport \"database/sql\"\nimport clock \"time\"\nimport \"errors\"\n",
			"internal/batch/a.go": "package batch\nimport \"time\"\n",
		},
		want: []string{"internal/judge/a.go:2: imports database/sql", "internal/judge/a.go:3: imports time"},
	},
	{
		rule: "SQL stands in .sql files",
		files: map[string]string{
			"inbox/a.go":           "package inbox\n\nconst q = `SELECT 1 FROM inbox`",
			"store/sqlite/a.go":    "package sqlite\nvar q = `\n\t-- mine\n\tDELETE FROM inbox`",
			"store/txn/a.go":       "package txn\nconst q = \"SAVEPOINT headrace\"",
			"outbox/a_test.go":     "package outbox\nconst q = \"SELECT 1\"",
			"cmd/headrace/a.go":    "package main\nconst q = \"SELECT 1\"",
			"store/storetest/a.go": "package storetest\nconst q = \"SELECT 1\"",
			"dlq/a.go":             "package dlq\nconst e = \"update the letter\"",
		},
		want: []string{"inbox/a.go:3: holds SQL: SELECT 1 FROM inbox", "store/sqlite/a.go:2: holds SQL: -- mine"},
	},
	{
		rule: "SQL is not assembled",
		files: map[string]string{
			"cmd/headrace/a.go": "package main\nimport \"fmt\"\nvar table string\n" +
				"var a = fmt.Sprintf(\"SELECT * FROM %s\", table)\n" +
				"var b = \"UPDATE \" + table + \" SET n = 1\"\n" +
				"var c = \"SELECT n\" + \" FROM inbox\"\n" +
				"var d = fmt.Errorf(\"SELECT 1: %w\", nil)\n" +
				"func e() { fmt.Fprintf(nil, (\"DELETE FROM \") + table) }\n" +
				"var f = fmt.Sprintf(\"%d rows of %s\", 1, table)\n",
			"inbox/a_test.go": "package inbox\nvar q = \"SELECT \" + x",
		},
		want: []string{
			"cmd/headrace/a.go:4: builds SQL with fmt.Sprintf",
			"cmd/headrace/a.go:5: builds SQL by concatenation",
			"cmd/headrace/a.go:8: builds SQL with fmt.Fprintf",
		},
	},
}

func TestIsSQL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"SELECT 1":                            true,
		"\n\t(SELECT n FROM t)":               true,
		"-- why\nSELECT n\nFROM t":            true,
		"select n from t where n = $1":        true,
		"insert into t values (1)":            true,
		"INSERT OR IGNORE INTO t VALUES (1)":  true,
		"UPDATE t SET n = 1":                  true,
		"UPDATE {{schema}}.t AS t\nSET n = 1": true,
		"DELETE FROM t":                       true,
		"WITH a AS (SELECT 1) SELECT":         true,
		"with recursive a (n) as (select 1)":  true,
		"CREATE UNIQUE INDEX i ON t (n)":      true,
		"DROP TABLE t":                        true,
		"TRUNCATE TABLE t":                    true,

		"":                                  false,
		"SELECT":                            false,
		"select a handler":                  false,
		"select: nothing to take from here": false,
		"update the row":                    false,
		"DELETE /letters/{id}":              false,
		"delete the letter":                 false,
		"create a table first":              false,
		"with one as well":                  false,
		"SAVEPOINT headrace":                false,
		"the rows that SELECT 1 finds":      false,
	} {
		if got := isSQL(text); got != want {
			t.Errorf("%q is SQL: %t, want %t", text, got, want)
		}
	}
}
