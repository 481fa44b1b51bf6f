package postgres_test

import (
	"testing"

	"github.com/headrace/headrace/dlq/groups"
)

// manyLetters are $1 letters of 40 groups in 30 days, of which nine in ten are open. The triggers
// are off, as in a restore of data.
const manyLetters = `INSERT INTO headrace_dead_letters (state, class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint,
	message_id, topic, payload, metadata, coordinates, trace_parent, trace_state, error, error_fingerprint, chain, stack, attempts,
	first_failure, last_failure, previous_id, redrives, host, build, environment, created_at, changed_at)
SELECT CASE WHEN n % 10 = 9 THEN 'discarded' ELSE 'open' END, 'permanent', 'billing', 'h' || n % 8, 'billing/h' || n % 8, n::text, '', false, 'f', '',
	'', 'orders', convert_to(repeat('x', 300), 'utf8'), '\x7b7d', '{}', '', '', 'insert invoice ' || n, 'print' || lpad((n % 40)::text, 11, '0'), '[]', '', 1,
	now(), now(), 0, 0, 'pod-1', 'v1.' || n * 8 / $1, '', now() - interval '30 days' * (1 - n / $1::float8), now()
FROM generate_series(1, $1) AS n`

// laterChanges are 10,000 changes that are not added up.
const laterChanges = `INSERT INTO headrace_letter_changes (consumer, handler, error_fingerprint, class, build, opened, closed, expired, oldest, newest, at)
SELECT 'billing', 'h' || n % 8, 'print' || lpad((n % 40)::text, 11, '0'), 'permanent', 'v1.8', 1, 0, 0, $1 + n, $1 + n, now()
FROM generate_series(1, 10000) AS n`

// TestGroupViewsReadCounters: what headrace status, dlq groups and dlq why read of groups does not
// depend on the number of letters. A million took 0.4 s where they were counted.
//
//evidence:group-views
func TestGroupViewsReadCounters(t *testing.T) {
	t.Parallel()
	letters := 1_000_000
	if testing.Short() {
		letters = 20_000
	}
	b := ownDatabase(t)
	b.exec("ALTER TABLE headrace_dead_letters DISABLE TRIGGER USER")
	b.exec(manyLetters, letters)
	b.exec("ALTER TABLE headrace_dead_letters ENABLE TRIGGER USER")
	store := b.Operations().Groups
	if err := store.Recount(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.exec(laterChanges, letters)
	for _, statistics := range []string{"none", "new"} {
		if statistics == "new" {
			for _, table := range []string{"dead_letters", "letter_changes", "groups", "group_hours"} {
				b.exec("VACUUM ANALYZE headrace_" + table)
			}
		}
		for _, c := range []struct{ name, types, args string }{
			{"groups_list", "text, text, text, boolean", "'', '', '', false"},
			{"groups_list", "text, text, text, boolean", "'', '', '', true"},
			{"groups_list", "text, text, text, boolean", "'billing', 'h3', 'print00000000003', true"},
			{"groups_hours", "text, text, text", "'billing', 'h3', 'print00000000003'"},
			{"groups_builds", "text, bigint", "'billing', 12000000"},
			{"groups_behind", "", ""},
			{"groups_due", "", ""},
			{"groups_states", "text", "'billing'"},
			{"letters_get", "bigint", "1000"},
		} {
			prepare, execute := "PREPARE p AS ", "EXECUTE p"
			if c.types != "" {
				prepare, execute = "PREPARE p ("+c.types+") AS ", "EXECUTE p ("+c.args+")"
			}
			explain(t, b.db, c.name+" with statistics "+statistics, prepare+b.SQL(c.name), execute, 2500)
		}
	}
	// The gauge of open letters reads an index alone.
	b.visible("headrace_dead_letters")
	explain(t, b.db, "letters_count", "PREPARE p (text, text, text, text) AS "+b.SQL("letters_count"), "EXECUTE p ('billing', '', 'permanent', '')", max(letters/400, 100))
	list, err := store.List(t.Context(), groups.Filter{})
	var open int64
	for _, g := range list {
		open += g.Open
	}
	if want := int64(letters*9/10 + 10000); err != nil || len(list) != 36 && len(list) != 40 || open != want {
		t.Errorf("%d groups with %d letters, want %d, %v", len(list), open, want, err)
	}
}
