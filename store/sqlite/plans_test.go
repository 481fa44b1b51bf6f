package sqlite

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/sqlrun"
)

// scans are the queries that may walk over a table or a part of an index.
var scans = map[string]string{
	"backlog_depth":  "counts up to a limit",
	"backlog_depths": "counts, for the command",
	"inbox_counts":   "counts, as its interface says",
	"letters_groups": "counts",
	"letters_count":  "counts; of one class, its letters alone",
	"waiting_groups": "takes the first of an index, and what it found",
	"redrives_added": "the letters of a window",
	"letters_insert": "looks at the newest row only",
	"outbox_list":    "counts along indexes",
	"outbox_topics":  "counts up to a limit in each shard",
	"outbox_unpark":  "walks the index of parked rows",
	"outbox_blocked": "takes the first of a shard",
	"backlog_poll":   "takes the first that will be due",
	"meta_read":      "one row",
	"meta_renew":     "one row",

	"groups_begun":          "a second's changes, and what was chosen of the groups",
	"groups_list":           "the groups: one for each reason of failures of half a year, and a second's changes",
	"groups_states":         "the groups of a consumer",
	"groups_hours":          "a second's changes",
	"groups_day":            "a second's changes",
	"groups_mute":           "a second's changes",
	"groups_builds":         "the builds and the instances of a consumer",
	"groups_note_builds":    "the instances of a consumer",
	"groups_behind":         "takes the first row",
	"groups_prune_hours":    "the hours of groups, once an hour",
	"groups_prune_groups":   "the groups, once an hour",
	"groups_prune_builds":   "the builds, once an hour",
	"groups_recount_hours":  "counts all letters, for the command",
	"groups_recount_groups": "counts all letters, for the command",

	"subscriptions_list":               "the subscriptions: a row for each consumer and topic",
	"subscriptions_handled":            "the subscriptions, for the command",
	"subscriptions_move":               "the subscriptions",
	"subscriptions_remove":             "the subscriptions",
	"subscriptions_sweep":              "walks the line of unclaimed events up to its limit, now and then",
	"subscriptions_sweep_copy":         "walks the line of unclaimed events up to its limit, now and then",
	"subscriptions_sweep_held":         "walks the line of unclaimed events up to its limit, now and then",
	"subscriptions_sweep_copy_held":    "walks the line of unclaimed events up to its limit, now and then",
	"subscriptions_move_twice":         "a consumer's line, for the command",
	"subscriptions_move_twice_held":    "a consumer's line, for the command",
	"subscriptions_move_rows":          "a consumer's line, for the command",
	"subscriptions_move_rows_held":     "a consumer's line, for the command",
	"subscriptions_local_gone":         "an outbox without a publisher, for the command",
	"subscriptions_local_gone_held":    "an outbox without a publisher, for the command",
	"subscriptions_local_refused":      "an outbox without a publisher, for the command",
	"subscriptions_local_refused_gone": "an outbox without a publisher, for the command",
	"subscriptions_local_rows":         "an outbox without a publisher, for the command",
	"subscriptions_local_delayed":      "an outbox without a publisher, for the command",
	"subscriptions_runs":               "the instances of a consumer: one a process, of one day",
	"subscriptions_remove_rows":        "a consumer's line, for the command",
	"subscriptions_remove_rows_held":   "a consumer's line, for the command",

	"conditions_oldest":         "takes the first of an index, behind those of other consumers and muted groups",
	"steps_doubled":             "the steps that were carried out twice, which are few",
	"steps_count":               "the steps that were carried out twice, which are few",
	"conditions_list":           "the conditions: one for each that fires or fired this month",
	"conditions_sends":          "the sends of conditions: one for each sink",
	"conditions_forget":         "the conditions, once an hour",
	"conditions_forget_sends":   "the sends of conditions, once an hour",
	"conditions_origin":         "one row",
	"instances_list":            "the instances, one a process, of one day",
	"instances_forget":          "the instances, once an hour",
	"instances_forget_marks":    "the marks, one a worker",
	"instances_forget_suspects": "the suspects, which are few",
	"marks_list":                "the instances of a consumer: one a process, of one day",
	"marks_suspects":            "the suspects, which are few",
	"relays_owners":             "the consumers that publish an outbox",
	"relays_forget":             "the relays, one a process, of one hour",
	"pauses_get":                "one row: (consumer=?) is the whole primary key",
	"prune_newest_cut":          "two rows: (consumer=?) is the whole primary key",
	"pauses_resume":             "one row: (consumer=?) is the whole primary key",
	"pauses_list":               "a row for each consumer",
	"requests_expire":           "the requests, every ten minutes",
	"requests_forget":           "the requests, every ten minutes",
	"redrives_due":              "the running and paused redrives, which are few",
	"redrives_unfinished":       "the running and paused redrives, which are few",
	"schedules_list":            "a row for each schedule",
	"systems_known":             "takes the first row, for the command",
	"rehearsals_letters":        "walks the open letters up to its limit, for a rehearsal",
	"systems_list":              "a row for each system that was ever paused",
	"prune_count_messages":      "counts, as its interface says",
	"prune_count_letters":       "counts, as its interface says",
	"prune_due":                 "a row for each consumer",
	"prune_keep":                "a row for each consumer",
}

var (
	// walk is a step over a table that no condition, or only a coarse one, bounds.
	walk = regexp.MustCompile(`^SCAN (main\.)?headrace_|^SCAN [a-z]+( USING .*)?$|^SEARCH .*\((shard|consumer|outbox|outbox=\? AND shard|state|status|kind|subject_kind|class|handler)=\?\)$`)
	// result is a step over the rows of a part of the query.
	result = regexp.MustCompile(`^SCAN (chosen|head|due|scopes|orders|o|failed|clock|newest|g|d|f|free|stray|change|came|b|ran|t|r|w|line)( USING .*)?$`)
)

// TestPlans: no other query walks over a table, however large it is (DESIGN §3
// Backlog and drain: an idle look that walked over what is not due took 218 ms).
//
//evidence:idle
func TestPlans(t *testing.T) {
	s, _ := setup(t)
	for name, query := range s.text.Queries.All() {
		var ignored int
		plan, err := sqlrun.Collect(t.Context(), s.DB(), "EXPLAIN QUERY PLAN "+query, nulls(query), func(step *string) []any {
			return []any{&ignored, &ignored, &ignored, step}
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		walks := false
		for _, step := range plan {
			walks = walks || walk.MatchString(step) && !result.MatchString(step)
		}
		if walks != (scans[name] != "") {
			t.Errorf("%s: walks: %t; reason that it may: %q; its plan:\n%s", name, walks, scans[name], strings.Join(plan, "\n"))
		}
	}
}

// A list of steps reads the first of each state along an index: skipped ones are many, and stay. Only
// what was read is sorted.
func TestStepsAreSearchedUpToALimit(t *testing.T) {
	s, _ := setup(t)
	query := s.text.Queries.Get("steps_search")
	var ignored int
	plan, err := sqlrun.Collect(t.Context(), s.DB(), "EXPLAIN QUERY PLAN "+query, nulls(query), func(step *string) []any {
		return []any{&ignored, &ignored, &ignored, step}
	})
	all := strings.Join(plan, "\n")
	if err != nil || strings.Count(all, "headrace_steps_review (state=? AND changed_at<?)") != 4 || strings.Count(all, "TEMP B-TREE") != 1 || !strings.HasSuffix(all, "USE TEMP B-TREE FOR ORDER BY") {
		t.Errorf("%v\n%s", err, all)
	}
}

// nulls returns an argument for each parameter of query.
func nulls(query string) []any {
	highest := 0
	for _, m := range regexp.MustCompile(`\$(\d+)`).FindAllStringSubmatch(query, -1) {
		var n int
		_, _ = fmt.Sscan(m[1], &n)
		highest = max(highest, n)
	}
	return make([]any, highest)
}
