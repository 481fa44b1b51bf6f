package postgres_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lib/pq"

	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/postgres"
)

// compiled is the cost above which PostgreSQL compiles a statement, jit_above_cost as it is by default.
// That takes 40 to 600 ms, each time. A statement that reads little must not be taken for an expensive one.
const compiled = 100_000

var costs = regexp.MustCompile(`cost=[0-9.]+\.\.([0-9]+)`)

// estimate is what the planner expects a statement to cost.
func estimate(t *testing.T, plan string) int {
	t.Helper()
	m := costs.FindStringSubmatch(plan)
	if m == nil {
		t.Fatalf("no costs:\n%s", plan)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// No statement is compiled in a new database. A gauge that listed outboxes was, at each look: 85 ms
// instead of half a millisecond.
func TestNoStatementIsCompiled(t *testing.T) {
	t.Parallel()
	b := setup(t, "open", "", postgres.Options{})
	conn, err := b.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	exec := func(query string) error {
		_, err := conn.ExecContext(t.Context(), query)
		return err
	}
	explained := 0
	for name, query := range b.SQLs() {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			if err := exec("SET plan_cache_mode = " + mode); err != nil {
				t.Fatal(err)
			}
			if exec("PREPARE p AS "+query) != nil {
				continue // no query: LOCK, SAVEPOINT
			}
			var types []string
			err := conn.QueryRowContext(t.Context(), "SELECT parameter_types::text[] FROM pg_prepared_statements").Scan(pq.Array(&types))
			if err != nil {
				t.Fatal(err)
			}
			plan, err := sqlrun.Collect(t.Context(), conn, "EXPLAIN EXECUTE p"+samples(types), nil, func(line *string) []any { return []any{line} })
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if cost := estimate(t, plan[0]); cost > compiled {
				t.Errorf("%s costs %d with %s:\n%s", name, cost, mode, strings.Join(plan, "\n"))
			}
			explained++
			if err := exec("DEALLOCATE p"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if explained < 500 {
		t.Errorf("%d plans, where there are more than 250 statements", explained)
	}
}

// samples are arguments of these types: numbers as limits have them, and what is no restriction.
func samples(types []string) string {
	if len(types) == 0 {
		return ""
	}
	args := make([]string, len(types))
	for i, name := range types {
		value := "''"
		switch name {
		case "smallint", "integer", "bigint", "double precision":
			value = "1000"
		case "boolean":
			value = "true"
		case "timestamp with time zone":
			value = "now()"
		case "tid":
			value = "'(0,1)'"
		default:
			if strings.HasSuffix(name, "[]") {
				value = "'{}'"
			}
		}
		args[i] = fmt.Sprintf("%s::%s", value, name)
	}
	return " (" + strings.Join(args, ", ") + ")"
}
