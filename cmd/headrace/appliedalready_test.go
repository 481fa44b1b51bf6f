package main

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
)

// A redrive that closes letters because their messages were applied already has done something, although it sent none.
func TestRedriveOfWhatWasApplied(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.seed("stand-in", "a")
	p.seed("instance", "billing")
	var b billing
	b.start(p, "v1")
	p.run(exitDone, quickly, "dlq", "redrive", "1", "--reason", "the key is right now", "--yes")
	b.stop()
	// The process writes beside it.
	db, err := sql.Open("sqlite", strings.TrimPrefix(p.dsn, "sqlite:")+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	again := func() {
		t.Helper()
		_, err := db.Exec("UPDATE headrace_dead_letters SET state = 'open'")
		_, err2 := db.Exec("UPDATE headrace_inbox SET state = 'dead' WHERE key = 'stand-in:a'")
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
	}
	b.stop = nil
	b.start(p, "v1")
	again()
	p.run(exitPartial, quickly, "dlq", "redrive", "1", "--reason", "x", "--yes")
	p.wants("ids", "skipped: it was applied under its own key already")
	again()
	p.run(exitDone, quickly, "redrive", "plan", "--consumer", "billing")
	p.run(exitPartial, quickly, "redrive", "apply", "R-3", "--reason", "x")
	p.run(exitDone, nil, "check")
}
