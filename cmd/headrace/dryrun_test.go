package main

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/redriving"
)

// notDry are the commands that write, without --dry-run: a plan and a rehearsal change no message, and
// are themselves what comes before; a test alert and the pages are nothing that could be counted; an
// export writes a row of the audit.
var notDry = []string{"redrive plan", "dlq rehearse", "dlq export", "alert test", "ui"}

// dryRuns try each command that writes, and say what it would do.
var dryRuns = map[string]struct {
	args, would string
}{
	"migrate up":          {"", "apply 0 migrations"},
	"migrate new-id":      {"", "give the database a new id"},
	"check":               {"--repair counters", "count the letters of 1 group again"},
	"consumer pause":      {"billing", "pause billing, of which 1 process runs"},
	"consumer resume":     {"billing", ""}, // it runs
	"dlq note":            {"a276 mended", "note on"},
	"dlq mute":            {"a276 --for 1h", "mute"},
	"dlq unmute":          {"a276", ""}, // it is not muted
	"dlq resolve":         {"a276", "resolve"},
	"dlq redrive":         {"1 2 --yes --reason x", "redrive 2 letters"},
	"dlq discard":         {"--group a276 --reason x", "discard 4 letters"},
	"dlq restore":         {"3 --reason x", "restore 1 letter"},
	"dlq edit":            {"", ""}, // a process of the consumer checks it: see edit.txtar
	"dlq import":          {"testdata/letters.ndjson", "1 letter would be imported"},
	"backlog retry":       {"again", "retry 1 message of billing"},
	"backlog cancel":      {"again --reason x --yes", "cancel 1 message of billing"},
	"redrive apply":       {"R-1 --reason x --anyway", "redrive 4 letters of billing, stages 1, 3"},
	"redrive pause":       {"R-2 --reason x", "pause R-2, with 4 letters queued"},
	"redrive resume":      {"R-3", "resume R-3, with 4 letters queued"},
	"redrive cancel":      {"R-2 --reason x", "cancel R-2, with 4 letters queued"},
	"steps resolve":       {"billing/orders.paid s1 payout --done --reason x", "record as carried out: step payout of billing/orders.paid s1, which is"},
	"steps send":          {"billing/orders.paid w1 approval true", "send the signal: step approval"},
	"steps erase":         {"billing/orders.paid answered --reason x", "erase 0 results of steps of billing/orders.paid answered, and its answer"},
	"suspect begin":       {"--until 90m --reason x", "suspect the steps of all messages from before"},
	"suspect end":         {"--reason x", ""}, // it is off
	"system pause":        {"bank --for 1h", "pause bank for 1h"},
	"system resume":       {"bank", ""}, // it is not paused
	"schedule fire":       {"nightly", "ask for a tick of nightly"},
	"outbox unpark":       {"--all", "publish 2 parked events again"},
	"outbox local":        {"", "give"},
	"subscription move":   {"shipping invoicing", "give to invoicing 1 subscription of shipping with"},
	"subscription remove": {"shipping --events", "end 1 subscription of shipping with"},
	"prune":               {"--source-retention 1h", "0 messages and 0 letters would be removed"},
}

// With --dry-run each command that writes says what it would do, and writes nothing.
//
//evidence:command
func TestDryRun(t *testing.T) {
	p := newProgram(t)
	for _, s := range [][2]string{
		{"instance", "billing"}, {"dead", "3"}, {"parked", "2"}, {"retried", "again"}, {"subscription", "shipping"},
		{"schedule", "nightly"}, {"steps", "s1"}, {"steps", "s2"}, {"signal", "w1"}, {"answered", "answered"},
	} {
		p.seed(s[0], s[1])
	}
	p.run(exitDone, nil, "dlq", "discard", "--direct", "3", "--reason", "x", "--yes")
	planned(p, "")
	before := p.dump()
	var known []string
	walk(New().root(), func(name string, c *cobra.Command) {
		if c.Flags().Lookup("dry-run") != nil {
			known = append(known, name)
		} else if !slices.Contains(notDry, name) && !slices.Contains(reads, name) {
			t.Errorf("%s has no --dry-run, and is none of those that write nothing", name)
		}
	})
	for _, name := range known {
		run, ok := dryRuns[name]
		if !ok {
			t.Errorf("%s is not tried", name)
			continue
		}
		if name == "dlq edit" {
			continue
		}
		want := exitDone
		if run.would == "" {
			want = exitFailed
		}
		args := append(strings.Fields(name+" "+run.args), "--dry-run")
		p.run(want, nil, args...)
		if !strings.Contains(p.stdout.String(), run.would) {
			t.Errorf("%v says %q, without %q", args, p.stdout.String(), run.would)
		}
		p.run(want, nil, append(args, "-o", "json")...)
		if want == exitDone && !strings.Contains(p.stdout.String(), `"dry_run": true`) {
			t.Errorf("%v: %s", args, p.stdout.String())
		}
		if after := p.dump(); after != before {
			t.Fatalf("%v writes:\n%s", args, differs(before, after))
		}
	}
	for name := range dryRuns {
		if !slices.Contains(known, name) {
			t.Errorf("%s has no --dry-run", name)
		}
	}
}

// A dry run is refused as the command is.
//
//evidence:command
func TestDryRunIsRefused(t *testing.T) {
	p := newProgram(t)
	p.seed("instance", "billing")
	p.seed("dead", "2")
	p.seed("schedule", "nightly")
	planned(p, "")
	for line, want := range map[string]int{
		"redrive apply R-2 --reason x": exitRefused, "redrive pause R-1 --reason x": exitRefused, "redrive resume R-2": exitRefused,
		"schedule fire unknown": exitFailed, "backlog cancel k1 --reason x --yes": exitRefused, "steps resolve billing/h k s --done --reason x": exitFailed,
		"dlq mute ffff": exitFailed, "system pause erp --for 1h": exitRefused, "system resume erp": exitFailed,
		"dlq discard 99 --reason x": exitFailed, "dlq redrive 99 --direct": exitFailed, "dlq redrive --handler none": exitFailed,
	} {
		p.run(want, nil, append(strings.Fields(line), "--dry-run")...)
	}
	p.run(exitDone, nil, "consumer", "pause", "billing")
	p.run(exitDone, nil, "system", "pause", "bank", "--for", "2h", "--anyway")
	for line, says := range map[string]string{
		"consumer pause billing": "would leave billing as it is: paused by", "consumer resume billing": "would resume billing",
		"system pause bank --for 1h --anyway": "would leave bank as it is: paused until", "system pause bank --for 3h --anyway": "would pause bank for 3h",
		"system resume bank": "would end the pause of bank",
	} {
		if p.run(exitDone, nil, append(strings.Fields(line), "--dry-run")...); !strings.Contains(p.stdout.String(), says) {
			t.Errorf("%s: %s", line, p.stdout.String())
		}
	}
	p = newProgram(t) // where no process runs
	p.seed("dead", "2")
	p.run(exitRefused, nil, "dlq", "redrive", "1", "--dry-run")
	p.run(exitRefused, nil, "dlq", "discard", "--all", "--reason", "x", "--dry-run")
	p.run(exitDone, nil, "dlq", "discard", "--direct", "--all", "--reason", "x", "--dry-run")
}

// planned makes a plan, R-1, and redrives that run and are paused, R-2 and R-3.
func planned(p *program, schema string) {
	p.Helper()
	db, err := parseDSN(p.dsn)
	if err != nil {
		p.Fatal(err)
	}
	st, err := New().open(p.Context(), db, schema, false)
	if err != nil {
		p.Fatal(err)
	}
	e := &redriving.Engine{Store: st, Consumer: "billing"}
	for id := int64(1); id <= 3 && err == nil; id++ {
		if _, err = e.Plan(p.Context(), redriving.Plan{Kind: job.Redriving, Options: job.DefaultOptions()}, "ann"); err == nil && id > 1 {
			_, err = e.Apply(p.Context(), redriving.Apply{ID: id, Anyway: true}, "ann", "mended")
		}
		if err == nil && id > 2 {
			_, err = e.Pause(p.Context(), id, "ann", "lunch")
		}
	}
	if err := errors.Join(err, st.Close()); err != nil {
		p.Fatal(err)
	}
}

// dump is all that a SQLite database has, a row a line.
func (p *program) dump() string {
	p.Helper()
	db, err := sql.Open("sqlite", strings.TrimPrefix(p.dsn, "sqlite:"))
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var all strings.Builder
	for _, table := range column(p, db, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
		columns := column(p, db, "SELECT 'quote('||name||')' FROM pragma_table_info('"+table+"')")
		for _, row := range column(p, db, "SELECT "+strings.Join(columns, "||','||")+" FROM "+table+" ORDER BY 1") {
			fmt.Fprintf(&all, "%s: %s\n", table, row)
		}
	}
	return all.String()
}

func column(p *program, db *sql.DB, query string) (list []string) {
	p.Helper()
	rows, err := db.QueryContext(p.Context(), query)
	if err != nil {
		p.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			p.Fatalf("%s: %v", query, err)
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		p.Fatal(err)
	}
	return list
}

// differs are the lines of after that before has not.
func differs(before, after string) string {
	old := strings.Split(before, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(after, "\n"), func(line string) bool { return slices.Contains(old, line) }), "\n")
}
