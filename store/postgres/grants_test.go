package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/postgres"
)

// hidden are the columns that a viewer may not read, by table: what messages say, and what
// others answered.
var hidden = map[string]string{
	"headrace_answers":      "answer",
	"headrace_backlog":      "metadata payload",
	"headrace_dead_letters": "metadata payload",
	"headrace_letter_edits": "metadata payload",
	"headrace_memos":        "result",
	"headrace_outbox":       "metadata payload",
	"headrace_outbox_held":  "metadata payload",
	"headrace_requests":     "answer args",
	"headrace_steps":        "result",
}

// TestGrantsKnowEveryTable: each table has a line for the consumer and the operator, and each
// column one for the viewer, or is hidden from it. The SQL may run again.
func TestGrantsKnowEveryTable(t *testing.T) {
	t.Parallel()
	b := setup(t, "open", "", postgres.Options{})
	grants, err := b.Grants(b.schema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, role := range []string{"admin", "publisher", "consumer", "operator", "viewer"} {
			if _, err := b.db.Exec(fmt.Sprintf("DROP OWNED BY %[1]s_%[2]s; DROP ROLE %[1]s_%[2]s", b.schema, role)); err != nil {
				t.Error(err)
			}
		}
	})
	for range 2 {
		b.exec(grants)
	}
	type column struct {
		table, name string
		viewer      bool
	}
	columns, err := sqlrun.Collect(t.Context(), b.db, `SELECT c.relname, a.attname, has_column_privilege($2, c.oid, a.attnum, 'SELECT')
		FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
		WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' AND c.relname LIKE 'headrace\_%' ORDER BY c.relname, a.attname`,
		[]any{b.schema, b.schema + "_viewer"}, func(c *column) []any { return []any{&c.table, &c.name, &c.viewer} })
	if err != nil {
		t.Fatal(err)
	}
	may := func(role, table, right string) bool {
		return one[bool](b, b.db, "SELECT has_table_privilege($1, $2, $3)", b.schema+"_"+role, b.schema+"."+table, right)
	}
	got := make(map[string]string)
	for _, c := range columns {
		if !c.viewer {
			got[c.table] = strings.TrimSpace(got[c.table] + " " + c.name)
		}
		for _, role := range []string{"consumer", "operator", "admin"} {
			if !may(role, c.table, "SELECT") {
				t.Errorf("grants.sql has no line of the %s for %s", role, c.table)
			}
		}
		// Only the owner truncates, no role rewrites the audit, and only retention removes from it.
		for _, role := range []string{"publisher", "consumer", "operator", "admin", "viewer"} {
			if may(role, c.table, "TRUNCATE") || c.table == "headrace_audit" && (may(role, c.table, "UPDATE") || role != "consumer" && may(role, c.table, "DELETE")) {
				t.Errorf("the %s may do too much with %s", role, c.table)
			}
		}
	}
	if diff := cmp.Diff(hidden, got); diff != "" {
		t.Errorf("columns that a viewer may not read (-want +got):\n%s", diff)
	}
	if _, err := b.Grants(`x"; DROP TABLE headrace_inbox; --`); err == nil {
		t.Error("a prefix that needs quotes was taken")
	}
}
