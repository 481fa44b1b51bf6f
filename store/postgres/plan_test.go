package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/store/postgres"
)

// undue fills both tables with rows whose time has not come.
const undueBacklog = `INSERT INTO headrace_backlog (consumer, shard, line, due_at, handler, scope, key, order_key, strict,
	fingerprint, message_id, topic, payload, metadata, coordinates, trace_parent, trace_state, attempt, spent, letter_id, redrives)
SELECT 'billing', n % 16, CASE WHEN n % 4 = 0 THEN 'blocked' ELSE 'delayed' END,
	CASE WHEN n % 4 <> 0 THEN now() + interval '1 hour' END, 'h', 'billing/h', n::text, 'o' || n, true,
	'print', '', '', '\x7b7d', '\x7b7d', '{}', '', '', 1, 0, 0, 0
FROM generate_series(1, 100000) AS n`

const undueOutbox = `INSERT INTO headrace_outbox_held (shard, reason, due_at, attempts, error, message_id, topic, order_key,
	payload, metadata, trace_parent, trace_state)
SELECT n % 16, CASE WHEN n % 4 = 0 THEN 'parked' ELSE 'delayed' END,
	CASE WHEN n % 4 <> 0 THEN now() + interval '1 hour' END, 0, '', 'id', 't', 'o' || n, '\x7b7d', '\x7b7d', '', ''
FROM generate_series(1, 100000) AS n`

// DESIGN 3, Drain: with 1M undue rows an idle poll took 218 ms where it walked over
// them. It probes indexes, in each state of the statistics.
func TestPollNeverWalksUndueRows(t *testing.T) {
	b := setup(t, "open", "", postgres.Options{})
	pollBacklog, pollOutbox := b.PollSQL()
	b.exec(undueBacklog)
	b.exec(undueOutbox)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			b.exec("ANALYZE headrace_backlog, headrace_outbox, headrace_outbox_held")
		}
		t.Run(fmt.Sprintf("analyzed=%v", analyzed), func(t *testing.T) {
			marks := "'{" + strings.TrimSuffix(strings.Repeat("0,", backlog.Shards), ",") + "}'"
			explain(t, b.db, "PREPARE p (text, bigint[]) AS "+pollBacklog, "EXECUTE p ('billing', "+marks+")")
			explain(t, b.db, "PREPARE p (bigint[]) AS "+pollOutbox, "EXECUTE p ("+marks+")")
		})
	}
	p, err := b.Backlog().Poll(t.Context(), "billing", make([]int64, backlog.Shards))
	if err != nil || len(p.Shards) != 0 || p.Due || p.Next == 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// walks finds a table of undue rows read from end to end.
var walks = regexp.MustCompile(`Seq Scan on headrace_(backlog|outbox_held)`)

var touched = regexp.MustCompile(`(?m)^  Buffers: shared (?:hit=(\d+))?(?: read=(\d+))?`)

// explain fails the test if the statement reads a table from end to end or touches
// more pages than some probes of an index need.
func explain(t *testing.T, db *sql.DB, prepare, execute string) {
	t.Helper()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, statement := range []string{"SET plan_cache_mode = force_custom_plan", prepare} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := conn.QueryContext(ctx, "EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off) "+execute)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	plan := ""
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan += line + "\n"
	}
	if _, err := conn.ExecContext(ctx, "DEALLOCATE p"); err != nil {
		t.Fatal(err)
	}
	m := touched.FindStringSubmatch(plan)
	if m == nil {
		t.Fatalf("no buffers:\n%s", plan)
	}
	hit, _ := strconv.Atoi(m[1])
	read, _ := strconv.Atoi(m[2])
	// 48 probes of a few pages each; the tables have thousands.
	if walks.MatchString(plan) || hit+read > 400 {
		t.Errorf("%d pages:\n%s", hit+read, plan)
	}
}

// A plan that was made while a table was empty must not be kept: pgx prepares all
// that it is not told to leave alone.
func TestPlansAreNotKept(t *testing.T) {
	for _, driver := range []string{"open", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			b := setup(t, driver, "", postgres.Options{})
			b.DB().SetMaxOpenConns(1)
			for range 3 {
				everyStatement(b)
				b.exec("TRUNCATE headrace_inbox, headrace_attempts, headrace_dead_letters, headrace_audit, headrace_outbox, headrace_outbox_held")
			}
			x := b.begin()
			for _, what := range []string{"DELETE FROM", "line = 'ready'", "state = 'open'", "LATERAL"} {
				if n := one[int](b, x, "SELECT count(*) FROM pg_prepared_statements WHERE strpos(statement, $1) > 0", what); n > 0 {
					t.Errorf("%d statements with %s are prepared", n, what)
				}
			}
			if n := one[int](b, x, "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%INSERT INTO%headrace_inbox%'"); n == 0 {
				t.Error("the claim is not prepared")
			}
		})
	}
}
