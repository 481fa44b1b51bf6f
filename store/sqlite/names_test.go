package sqlite

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/sqlfile"
)

// Files that only one dialect needs, with the reason.
var (
	onlyPostgres = map[string]string{
		"queries/backlog_lock_shard.sql":       "a transaction of SQLite has the whole file",
		"queries/outbox_lock_shard.sql":        "a transaction of SQLite has the whole file",
		"queries/outbox_not_subscribed.sql":    "watermill-sql knows no SQLite",
		"queries/order_lock.sql":               "a transaction of SQLite has the whole file",
		"queries/inbox_claim_bounded.sql":      "nobody else holds a key while a transaction of SQLite is open",
		"queries/migrations_create_schema.sql": "SQLite has one schema for each file",
		"queries/migrations_has_schema.sql":    "SQLite has one schema for each file",
		"queries/migrations_lock.sql":          "BEGIN IMMEDIATE is the lock",
		"queries/migrations_lock_timeout.sql":  "the context bounds the wait for it",
		"queries/txn_id.sql":                   "SQLite's transactions have no id; the hooks of the connection see their end",
	}
	onlySQLite = map[string]string{
		"queries/sequences_take.sql":     "SQLite has no sequences",
		"queries/leases_claim_ended.sql": "RETURNING of SQLite does not know the row as it was",
		"queries/outbox_delete_held.sql": "one statement of SQLite writes into one table",
		"queries/outbox_delete_next.sql": "one statement of SQLite writes into one table",
		"queries/outbox_hold_change.sql": "one statement of SQLite writes into one table",
		"queries/outbox_hold_take.sql":   "one statement of SQLite writes into one table",
		"queries/alerts_oldest.sql":      "one statement of SQLite writes into one table",
		"queries/alerts_remove.sql":      "one statement of SQLite writes into one table",
		"queries/alerts_unpassed.sql":    "RETURNING of SQLite cannot be summed up",
		"queries/prune_stretch.sql":      "PostgreSQL walks by pages, whose numbers need no look",
		"queries/prune_look.sql":         "what is found takes the file's one writer, and not the look",
		"queries/prune_look_letters.sql": "what is found takes the file's one writer, and not the look",
		"queries/prune_attempts.sql":     "one statement of SQLite writes into one table",
		"queries/prune_audit.sql":        "one statement of SQLite writes into one table",
		"queries/prune_dead.sql":         "one statement of SQLite writes into one table",
	}
)

// TestSameNames: `diff -r store/postgres/queries store/sqlite/queries` shows the
// dialect and nothing else (DESIGN §8).
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
