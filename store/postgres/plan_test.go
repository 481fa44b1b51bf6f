package postgres_test

import (
	"database/sql"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/postgres"
)

// undueBacklog fills the backlog with $1 rows that are not to be run: rows of many order keys
// that wait for their time, for another row, for a lease, or for the end of one.
const undueBacklog = `INSERT INTO headrace_backlog (id, place, consumer, shard, status, due_at, token, handler, scope, key, order_key, strict,
	fingerprint, message_id, topic, payload, metadata, coordinates, trace_parent, trace_state, attempt, spent, reruns, letter_id, redrives, reply_topic)
SELECT n, n, 'billing', n % 64, (ARRAY['delayed', 'blocked', 'leasable', 'leased'])[n % 4 + 1],
	CASE WHEN n % 4 IN (0, 3) THEN now() + interval '1 hour' END, CASE WHEN n % 4 = 3 THEN 'token' ELSE '' END,
	CASE WHEN n % 4 = 2 THEN 'other' ELSE 'h' END, 'billing/h', n::text, 'o' || n, true,
	'print', '', '', '\x7b7d', '\x7b7d', '{}', '', '', 1, 0, 0, 0, 0, ''
FROM generate_series(1, $1::integer) AS n`

// oneKey adds 40,000 rows of one order key, of which the first is delayed, and as an updated
// row stands at the end of the table; it can be told which of the others are blocked.
const oneKey = `WITH put AS (
	INSERT INTO headrace_backlog (id, place, consumer, shard, status, handler, scope, key, order_key, strict,
		fingerprint, message_id, topic, payload, metadata, coordinates, trace_parent, trace_state, attempt, spent, reruns, letter_id, redrives, reply_topic)
	SELECT n, n, 'billing', 7, CASE WHEN n > $1 AND n <= $2 THEN 'blocked' ELSE 'ready' END, 'h', 'billing/h', n::text, 'deep', true,
		'print', '', '', '\x7b7d', '\x7b7d', '{}', '', '', 1, 0, 0, 0, 0, ''
	FROM generate_series(100001, 140000) AS n
)
SELECT setval('headrace_backlog_id', 200000)`

const undueOutbox = `INSERT INTO headrace_outbox_held (outbox, shard, reason, due_at, attempts, error, message_id, topic, order_key,
	payload, metadata, trace_parent, trace_state)
SELECT 'default', n % 64, CASE WHEN n % 4 = 0 THEN 'parked' ELSE 'delayed' END,
	CASE WHEN n % 4 <> 0 THEN now() + interval '1 hour' END, 0, '', 'id', 't', 'o' || n, '\x7b7d', '\x7b7d', '', ''
FROM generate_series(1, $1::integer) AS n`

// noMarks are the marks of a process that has just started.
var noMarks = "'{" + strings.TrimSuffix(strings.Repeat("0,", backlog.Shards), ",") + "}'"

// DESIGN §3 Backlog and drain: with 1M undue rows an idle poll took 218 ms where it walked over
// them. A statement of each poll or page probes indexes, in each state of the statistics,
// and compares times within the index. pages is what that takes; the tables have thousands.
//
//evidence:idle
func TestNoStatementWalks(t *testing.T) {
	rows := 100_000
	if testing.Short() {
		rows = 40_000
	}
	for _, c := range []struct {
		name string
		fill func(b *bundle)
		work []int // the shards with ready rows
	}{
		{"many keys", func(b *bundle) {
			b.exec(undueBacklog, rows)
			b.exec(undueOutbox, rows)
			b.exec("SELECT setval('headrace_backlog_id', 200000)")
		}, nil},
		{"one key beside many", func(b *bundle) { b.exec(undueBacklog, rows); fillOneKey(b, 100001, 120000) }, []int{7}},
		{"one key, all ready", func(b *bundle) { fillOneKey(b, 0, 0) }, []int{7}},
		{"one key, half blocked", func(b *bundle) { fillOneKey(b, 100001, 120000) }, []int{7}},
		{"one key, all blocked", func(b *bundle) { fillOneKey(b, 100001, 140000) }, nil},
		{"one key, all ready since the statistics", func(b *bundle) {
			fillOneKey(b, 100001, 140000)
			b.exec("ANALYZE headrace_backlog")
			b.exec("TRUNCATE headrace_backlog") // keeps the statistics
			fillOneKey(b, 0, 0)
		}, []int{7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "open", "", postgres.Options{})
			c.fill(b)
			for _, statistics := range []string{"none", "new"} {
				if statistics == "new" {
					b.exec("VACUUM ANALYZE headrace_backlog")
					if one[bool](b, b.db, "SELECT EXISTS (SELECT FROM headrace_outbox_held)") { // one that is known to be empty is read
						b.exec("VACUUM ANALYZE headrace_outbox_held")
					}
				}
				t.Run("statistics="+statistics, func(t *testing.T) { everyPlan(t, b) })
			}
			p, err := b.Backlog().Poll(t.Context(), "billing", make([]int64, backlog.Shards))
			if err != nil || !slices.Equal(p.Shards, c.work) || p.Due || p.Next == 0 {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

func fillOneKey(b *bundle, after, upTo int) {
	b.Helper()
	b.exec(oneKey, after, upTo)
	b.exec("UPDATE headrace_backlog SET status = 'delayed', due_at = now() + interval '1 hour' WHERE id = 100001")
}

func everyPlan(t *testing.T, b *bundle) {
	const read = "text, smallint, bigint, integer, bigint, text[], bigint[]"
	for _, c := range []struct {
		name, types, args string
		pages             int
	}{
		{"backlog_poll", "text, bigint[]", "'billing', " + noMarks, 30},
		{"outbox_poll", "bigint[], text", noMarks + ", 'default'", 800},
		{"backlog_depth", "text, integer", "'billing', 100", 7500}, // without statistics it may sort the blocked and the delayed rows
		{"backlog_depths", "integer", "4", 10_000},
		{"outbox_list", "text, bigint, integer", "'', 60000000, 4000", 12_000},
		{"outbox_topics", "text, integer, bigint", "'default', 2, 60000000", 7500},
		{"backlog_promote", "text, integer", "'billing', 100", 30},
		{"backlog_read", read, "'billing', 7, 120000, 100, 1000000, '{h}', NULL", 1500},
		{"backlog_read", read, "'billing', 7, 120000, 100, 1000000, '{h}', '{120001, 130000}'", 1500},
		{"order_block", "bigint[]", "'{120001, 120002, 120003}'", 150},
		{"order_release", "text[], text[], integer", "'{billing/h}', '{deep}', 3", 150},
		{"leases_look", "text, text", "'billing', 'h'", 30},
		{"leases_claim", "text, text, text, bigint, integer", "'billing', 'h', 'token', 1000, 10", 30},
		{"leases_claim", "text, text, text, bigint, integer", "'billing', 'other', 'token', 1000, 10", 500},
		{"leases_move_back", "text, text, integer", "'billing', 'h', 10", 30},
		{"leases_move_back", "text, text, integer", "'billing', 'other', 10", 500},
		{"backlog_reschedule", "bigint[], bigint[], integer[], integer[], boolean[], text[], text[]", "'{100001, 130000}', '{0, 5}', '{1, 2}', '{0, 0}', '{true, false}', '{later, now}', '{a, b}'", 80},
		{"waiting_last", "bigint, bigint", "0, 2000", 30},
		{"waiting_list", "bigint, bigint, integer, text, text, text", "100000, 102000, 51, '', '', 'none'", 400},
		{"waiting_get", "bigint", "100001", 30},
		{"waiting_last_failed", "bigint, bigint, text", "0, 2000, 'none'", 30},
		{"waiting_list_failed", "bigint, bigint, integer, text, text, text, text", "0, 110000, 51, '', '', '', 'none'", 30},
		{"waiting_groups", "text, text, text, integer, integer", "'', '', '', 50, 1500", 30},
		{"outbox_read_held", "smallint, integer, text", "7, 100, 'default'", 30},
	} {
		explain(t, b.db, c.name, "PREPARE p ("+c.types+") AS "+b.SQL(c.name), "EXECUTE p ("+c.args+")", c.pages)
	}
}

// A sweep looks at each order key that has blocked rows once, however many they are.
func TestSweepJumpsFromKeyToKey(t *testing.T) {
	t.Parallel()
	b := setup(t, "open", "", postgres.Options{})
	fillOneKey(b, 100001, 140000)
	for range 2 {
		explain(t, b.db, "order_sweep", "PREPARE p (text, integer) AS "+b.SQL("order_sweep"), "EXECUTE p ('billing', 10)", 30)
		b.exec("VACUUM ANALYZE headrace_backlog")
	}
}

// manyGroups are groups of two consumers that are old, and some that are new.
const manyGroups = `INSERT INTO headrace_groups (consumer, handler, error_fingerprint, class, state, state_at, open, total, first_at, last_at, first_build, last_build,
	first_letter, last_letter, sample)
SELECT CASE WHEN n % 2 = 0 THEN 'billing' ELSE 'other' END, 'h', n::text, 'permanent', CASE WHEN n % 1000 < 2 THEN 'new' ELSE 'ongoing' END, now() - n * interval '1 second', 9, 9,
	now(), now(), 'v1', 'v1', n, n, repeat('x', 300) FROM generate_series(1, 20000) AS n`

// What may have begun to fail is found without a look at the other groups, however many they are.
func TestBegunGroupsAreFew(t *testing.T) {
	t.Parallel()
	b := setup(t, "open", "", postgres.Options{})
	b.exec(manyGroups)
	for range 2 { // without statistics and with them
		explain(t, b.db, "groups_begun", "PREPARE p (text, integer) AS "+b.SQL("groups_begun"), "EXECUTE p ('billing', 1000)", 120)
		b.exec("VACUUM ANALYZE headrace_groups")
	}
	list, err := b.Operations().Groups.Begun(t.Context(), "billing", 1000)
	if err != nil || len(list) != 20 {
		t.Errorf("%d groups, %v", len(list), err)
	}
}

// openSteps fills the table of steps with those of two consumers: many that are done, some
// under way, some open for long, and many that were skipped and stay. Some wait for a person.
const openSteps = `INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, via, last_call_at, changed_at)
SELECT CASE WHEN n % 10 = 0 THEN 'billing/h' ELSE 'other/h' END, n::text, 'a', 'erp', s, '', '', CASE WHEN s = 'done' THEN 'call' ELSE '' END,
	now(), now() - CASE WHEN n % 8 < 4 THEN interval '1 day' ELSE interval '1 minute' END - n * interval '1 millisecond'
FROM (
	SELECT n, CASE WHEN n % 1000 = 0 THEN 'parked' ELSE (ARRAY['done', 'skipped', 'skipped', 'pending'])[n % 4 + 1] END AS s
	FROM generate_series(1, 200000) AS n
) AS rows`

// A scrape reads a bounded part of the steps that are open, skipped ones among them, and so
// does a list of them.
func TestStepsAreCountedUpToALimit(t *testing.T) {
	t.Parallel()
	b := setup(t, "open", "", postgres.Options{})
	b.exec(openSteps)
	for _, statistics := range []string{"none", "new"} {
		factor := 45 // without statistics it may sort the pending ones, and those that were skipped within an hour
		if statistics == "new" {
			b.exec("VACUUM ANALYZE headrace_steps")
			factor = 1
		}
		for _, c := range []struct {
			name, args string
			pages      int
		}{
			{"steps_count", "'billing/', 'billing0', 3600000000, 100", 200},
			{"steps_count", "'none/', 'none0', 3600000000, 100", 200},
			{"steps_count", "'', '\U0010FFFF', 0, 100", 200},
			{"steps_search", "'', '', 0, 100", 400},
			{"steps_search", "'parked', '', 0, 100", 400},
		} {
			explain(t, b.db, c.name+" with statistics "+statistics, "PREPARE p (text, text, bigint, integer) AS "+b.SQL(c.name), "EXECUTE p ("+c.args+")", factor*c.pages)
		}
	}
	counts, err := b.Operations().StepAdmin.Count(t.Context(), "billing", time.Hour)
	if err != nil || counts[ledger.Parked] != 200 || counts[ledger.Skipped] != ledger.MaxCount {
		t.Errorf("%v, %v", counts, err)
	}
	if counts, err = b.Operations().StepAdmin.Count(t.Context(), "", 0); err != nil || counts[ledger.Skipped] != ledger.MaxCount || counts[ledger.Pending] != ledger.MaxCount {
		t.Errorf("of all: %v, %v", counts, err)
	}
}

// walks finds a table of undue rows read from end to end.
var walks = regexp.MustCompile(`Seq Scan on headrace_(backlog|outbox_held|steps|dead_letters)`)

var touched = regexp.MustCompile(`(?m)^  Buffers: shared (?:hit=(\d+))?(?: read=(\d+))?`)

// explain fails the test if the statement has a plan that would read a table from end to
// end, touches more pages than that, or would be compiled. Nothing that it writes is kept.
//
// The pages of the catalog count too, and a backend reads them anew when another test has changed a table: the best of
// three tries counts.
func explain(t *testing.T, db *sql.DB, name, prepare, execute string, pages int) {
	t.Helper()
	for try := 1; ; try++ {
		plan := planOf(t, db, name, prepare, execute)
		if plan == "" {
			return
		}
		m := touched.FindStringSubmatch(plan)
		if m == nil {
			t.Fatalf("%s: no buffers:\n%s", name, plan)
		}
		hit, _ := strconv.Atoi(m[1])
		read, _ := strconv.Atoi(m[2])
		bad, many := walks.MatchString(plan) || estimate(t, plan) > compiled, hit+read > pages
		if many && !bad && try < 3 {
			continue
		}
		if bad || many {
			t.Errorf("%s: %d pages:\n%s", name, hit+read, plan)
		}
		return
	}
}

// planOf returns the plan of a statement, which has run in a transaction that is rolled back; "" if it failed.
func planOf(t *testing.T, db *sql.DB, name, prepare, execute string) (plan string) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, statement := range []string{"ROLLBACK", "DEALLOCATE ALL"} {
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		_ = conn.Close()
	}()
	for _, statement := range []string{"BEGIN", "SET LOCAL plan_cache_mode = force_custom_plan", prepare} {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	rows, err := conn.QueryContext(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING off) "+execute)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return ""
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan += line + "\n"
	}
	return plan
}
