package sqlite

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/sqlrun"
)

// manyLetters are $1 letters of 40 groups, of which nine in ten are open.
const manyLetters = `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $1)
INSERT INTO headrace_dead_letters (state, class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint, message_id, topic,
	trace_parent, trace_state, error_fingerprint, attempts, first_failure, last_failure, previous_id, redrives, host, build, environment,
	created_at, changed_at, coordinates, error, chain, stack, metadata, payload)
SELECT CASE WHEN n % 10 = 9 THEN 'discarded' ELSE 'open' END, 'permanent', 'billing', 'h' || n % 8, 'billing/h' || n % 8, CAST(n AS TEXT), '', 0, 'f', '', '', 'orders',
	'', '', printf('print%011d', n % 40), 1, 1, 1, 0, 0, 'pod-1', 'v1.' || (n * 8 / $1), '',
	$2 + n, $2 + n, '{}', 'insert invoice ' || n, '[]', '', x'7b7d', zeroblob(300)
FROM n`

// lettersWalked finds a table of letters read from end to end, or all open ones.
var lettersWalked = regexp.MustCompile(`SCAN (newest|oldest|l|headrace_dead_letters)\b`)

// TestGroupViewsReadCounters: what headrace status, dlq groups and dlq why read of groups does not
// depend on the number of letters. A million took 1.5 to 3.3 s where they were counted.
//
//evidence:group-views
func TestGroupViewsReadCounters(t *testing.T) {
	letters := 1_000_000
	if testing.Short() {
		letters = 20_000
	}
	s, _ := setup(t)
	write := func(query string, args ...any) {
		t.Helper()
		if _, err := s.DB().ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	write("DROP TRIGGER headrace_letters_inserted") // as a restore of data
	write(manyLetters, letters, time.Now().Add(-30*24*time.Hour).UnixMicro())
	store := s.Operations().Groups
	if err := store.Recount(t.Context()); err != nil {
		t.Fatal(err)
	}
	write("ANALYZE")
	plan := func(name string) string {
		t.Helper()
		query := s.text.Queries.Get(name)
		var ignored int
		plan, err := sqlrun.Collect(t.Context(), s.DB(), "EXPLAIN QUERY PLAN "+query, nulls(query), func(step *string) []any {
			return []any{&ignored, &ignored, &ignored, step}
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return strings.Join(plan, "\n")
	}
	for _, name := range []string{"groups_list", "groups_hours", "groups_builds", "groups_behind", "groups_states", "groups_due", "letters_get"} {
		if plan := plan(name); lettersWalked.MatchString(plan) {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
	// Status counts cancelled letters, which are in no group, and a scrape those of each class.
	if plan := plan("letters_count"); !strings.Contains(plan, "SEARCH l USING COVERING INDEX headrace_dead_letters_count (class=?") {
		t.Errorf("the letters of a class are not looked for by it:\n%s", plan)
	}
	list, err := store.List(t.Context(), groups.Filter{})
	var open int64
	for _, g := range list {
		open += g.Open
	}
	if want := int64(letters * 9 / 10); err != nil || open != want {
		t.Errorf("%d groups with %d letters, want %d, %v", len(list), open, want, err)
	}
}
