package sqlite

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/sqlfile"
)

// Files that only one dialect needs, with the reason.
var (
	onlyPostgres = map[string]string{
		"queries/backlog_lock_shard.sql":        "a transaction of SQLite has the whole file",
		"queries/outbox_lock_shard.sql":         "a transaction of SQLite has the whole file",
		"queries/subscriptions_lock_shards.sql": "a transaction of SQLite has the whole file",
		"queries/relays_lock.sql":               "a transaction of SQLite has the whole file",
		"queries/groups_recount_lock.sql":       "a transaction of SQLite has the whole file",
		"queries/groups_recount_freeze.sql":     "a transaction of SQLite has the whole file",
		"queries/outbox_not_subscribed.sql":     "watermill-sql knows no SQLite",
		"queries/inbox_claim_bounded.sql":       "no other transaction holds a key while a transaction of SQLite is open",
		"queries/inbox_claim_one.sql":           "a statement of SQLite is for one message",
		"queries/inbox_claim_one_lost.sql":      "a statement of SQLite is for one message",
		"queries/outbox_insert_one.sql":         "a statement of SQLite is for one event",
		"queries/migrations_create_schema.sql":  "SQLite has one schema for each file",
		"queries/migrations_has_schema.sql":     "SQLite has one schema for each file",
		"queries/migrations_try_lock.sql":       "BEGIN IMMEDIATE is the lock",
		"queries/migrations_no_timeouts.sql":    "SQLite builds an index in a transaction",
		"queries/migrations_lock_timeout.sql":   "the context bounds the wait for it",
		"queries/txn_same.sql":                  "SQLite's transactions have no id; the hooks of the connection see their end",
		"queries/txn_check_deferred.sql":        "SQLite checks deferred constraints at COMMIT alone",
		"queries/letters_list_bare.sql":         "SQLite has no logins",
		"queries/letters_groups_bare.sql":       "SQLite has no logins",
		"queries/roles_may.sql":                 "SQLite has no roles",
		"queries/login.sql":                     "SQLite has no logins",
		"queries/txn_restore.sql":               "SQLite has no roles, and no settings of a transaction",
		"queries/txn_close_cursors.sql":         "SQLite has no cursors in SQL",
	}
	onlySQLite = map[string]string{
		"queries/subscriptions_sweep_copy.sql":         "one statement of SQLite writes into one table",
		"queries/subscriptions_sweep_copy_held.sql":    "one statement of SQLite writes into one table",
		"queries/subscriptions_local_refused_gone.sql": "one statement of SQLite writes into one table",
		"queries/sequences_take.sql":                   "SQLite has no sequences",
		"queries/leases_claim_ended.sql":               "RETURNING of SQLite does not know the row as it was",
		"queries/outbox_delete_held.sql":               "one statement of SQLite writes into one table",
		"queries/outbox_delete_next.sql":               "one statement of SQLite writes into one table",
		"queries/outbox_hold_change.sql":               "one statement of SQLite writes into one table",
		"queries/outbox_hold_take.sql":                 "one statement of SQLite writes into one table",
		"queries/redrives_added.sql":                   "an INSERT of SQLite is no part of a SELECT",
		"queries/prune_stretch.sql":                    "PostgreSQL walks by pages, whose numbers need no look",
		"queries/prune_look.sql":                       "what is found takes the file's one writer, and not the look",
		"queries/prune_look_letters.sql":               "what is found takes the file's one writer, and not the look",
		"queries/prune_attempts.sql":                   "one statement of SQLite writes into one table",
		"queries/prune_steps.sql":                      "one statement of SQLite writes into one table",
		"queries/prune_answers.sql":                    "one statement of SQLite writes into one table",
		"queries/prune_audit.sql":                      "one statement of SQLite writes into one table",
		"queries/prune_edits.sql":                      "one statement of SQLite writes into one table",
		"queries/prune_dead.sql":                       "one statement of SQLite writes into one table",
		"queries/marks_revive.sql":                     "one statement of SQLite writes into one table",
		"queries/marks_accuse_remove.sql":              "one statement of SQLite writes into one table",
	}
)

// TestSameNames: `diff -r store/postgres/queries store/sqlite/queries` shows the
// dialect and nothing else.
//
//evidence:same-names
func TestSameNames(t *testing.T) {
	for _, dir := range []string{"migrations", "queries", "checks"} {
		theirs, ours := names(t, filepath.Join("..", "postgres", dir)), names(t, dir)
		for _, name := range theirs {
			if file := dir + "/" + name; !slices.Contains(ours, name) != (onlyPostgres[file] != "") {
				t.Errorf("store/postgres/%s: stands here too: %t; reason that it should not: %q", file, slices.Contains(ours, name), onlyPostgres[file])
			}
		}
		for _, name := range ours {
			if file := dir + "/" + name; !slices.Contains(theirs, name) != (onlySQLite[file] != "") {
				t.Errorf("%s: stands in store/postgres too: %t; reason that it should not: %q", file, slices.Contains(theirs, name), onlySQLite[file])
			}
		}
	}
	for file := range onlySQLite {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s is listed: %v", file, err)
		}
	}
	for file := range onlyPostgres {
		if _, err := os.Stat(filepath.Join("..", "postgres", file)); err != nil {
			t.Errorf("%s is listed: %v", file, err)
		}
	}
}

// TestSameRules: a rule says the same in every store.
//
//evidence:check
func TestSameRules(t *testing.T) {
	for _, name := range names(t, "checks") {
		ours, err := os.ReadFile(filepath.Join("checks", name))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile(filepath.Join("..", "postgres", "checks", name))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := sqlfile.Says(string(ours)), sqlfile.Says(string(theirs)); a != b {
			t.Errorf("%s: %q here, %q in store/postgres", name, a, b)
		}
	}
}

// clocks is how a statement would read the time by itself, or the database for it.
var clocks = regexp.MustCompile(`(?i)\b(clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|unixepoch|julianday|strftime|datetime|now)\s*\(|\bcurrent_(time|date|timestamp)\b|\blocaltime|'now'`)

// TestOneClock: no statement reads the time but by {{now}}, which the tests shift.
//
//evidence:one-clock
func TestOneClock(t *testing.T) {
	read := map[string]int{
		"parts/now.sql":                          1,
		"../postgres/migrations/0001_schema.sql": 1, // the body of headrace_now
	}
	for _, store := range []string{".", filepath.Join("..", "postgres")} {
		err := filepath.WalkDir(store, func(file string, _ os.DirEntry, err error) error {
			if err != nil || filepath.Ext(file) != ".sql" {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			statement := regexp.MustCompile(`--.*`).ReplaceAllString(string(text), "")
			if found := clocks.FindAllString(statement, -1); len(found) != read[filepath.ToSlash(file)] {
				t.Errorf("%s reads the time itself: %q", file, found)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
