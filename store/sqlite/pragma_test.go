package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	driversqlite "modernc.org/sqlite"

	"github.com/headrace/headrace/backlog"
)

// TestSettingsOnEveryConnection: WAL, synchronous=FULL and the rest are in force on
// each connection of each pool, not only on the first (fault 35: with less, an
// acknowledged message is lost with the power).
//
//evidence:sqlite-durable
func TestSettingsOnEveryConnection(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "test.db"), Options{Migrate: true, BusyTimeout: 1234 * time.Millisecond})
	for name, pool := range map[string]struct {
		db    *sql.DB
		conns int
		reads string
	}{
		"work": {s.work, 2, "0"},
		"user": {s.DB(), 5, "0"},
		"read": {s.read, defaultReadConns, "1"},
	} {
		for range pool.conns { // held until the end, so that each is another one
			c, err := pool.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			for pragma, want := range map[string]string{
				"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "1234", "query_only": pool.reads,
			} {
				var got string
				if err := c.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
					t.Errorf("%s: pragma %s is %q, %v, want %q", name, pragma, got, err, want)
				}
			}
		}
	}
}

// TestSettingsNotInForce: SQLite passes over a pragma that it cannot obey; the
// connection must be refused then.
func TestSettingsNotInForce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	openAt(t, path, Options{Migrate: true})
	for name, pragmas := range map[string][]string{
		"synchronous":  {"journal_mode(WAL)", "foreign_keys(1)", "synchronous(NORMAL)"},
		"foreign keys": {"journal_mode(WAL)", "foreign_keys(0)", "synchronous(FULL)"},
		"query only":   {"journal_mode(WAL)", "foreign_keys(1)", "synchronous(FULL)", "query_only(1)"},
	} {
		base, err := driversqlite.NewConnector(uri(path, "rw", pragmas...))
		if err != nil {
			t.Fatal(err)
		}
		if c, err := (connector{Connector: base, gate: &gate{}}).Connect(t.Context()); err == nil {
			t.Errorf("%s: the connection was taken", name)
			_ = c.Close()
		}
	}
	base, err := driversqlite.NewConnector("file::memory:?_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := (connector{Connector: base, gate: &gate{}}).Connect(t.Context()); err == nil {
		t.Error("a database that has no WAL was taken")
		_ = c.Close()
	}
}

// TestReadsNeverWait: polls and lists are answered while a transaction is open, and
// see what was committed; and they cannot write.
//
//evidence:sqlite-turns
func TestReadsNeverWait(t *testing.T) {
	s, _ := setup(t)
	write(t, s, "before")
	tx := begin(t, s)
	defer tx.Rollback()
	claim(t, s, tx, "open")
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	marks := make([]int64, backlog.Shards)
	_, err1 := s.Backlog().Poll(ctx, "c", marks)
	_, err2 := s.Outbox().Poll(ctx, marks)
	_, err3 := s.Check(ctx)
	counts, err4 := s.Inbox().Counts(ctx, "c")
	if err := errors.Join(err1, err2, err3, err4, s.Ping(ctx)); err != nil {
		t.Fatal(err)
	}
	if counts["done"] != 1 {
		t.Errorf("counts beside an open transaction: %v, want one done", counts)
	}
	if _, err := s.read.ExecContext(ctx, "INSERT INTO effects (key) VALUES ('x')"); err == nil {
		t.Error("a connection for reads wrote")
	}
}

func TestCheckVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"3.51.3": true, "3.51.4": true, "3.52.0": true, "3.100.0": true, "4.0.0": true,
		"3.51.2": false, "3.50.4": false, "3.9.0": false, "2.99.99": false, "": false, "x.y.z": false,
	} {
		if err := checkVersion(version); (err == nil) != ok {
			t.Errorf("checkVersion(%q) = %v", version, err)
		}
	}
}
