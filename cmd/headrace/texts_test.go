package main

import (
	"strings"
	"testing"
)

// A script's unset variable chooses nothing, and names no group: neither as a flag nor as an argument.
//
//evidence:command
func TestEmptyTexts(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "3")
	p.seed("retried", "again")
	for _, args := range [][]string{
		{"dlq", "resolve", ""}, {"dlq", "mute", ""}, {"dlq", "unmute", ""}, {"dlq", "note", "", "x"}, {"dlq", "why", ""}, {"dlq", "rehearse", ""},
		{"dlq", "redrive", "", "--reason", "x"}, {"dlq", "discard", "", "--reason", "x"}, {"redrive", "plan", ""}, {"dlq", "export", ""},
		{"dlq", "ls", "--consumer", ""}, {"dlq", "ls", "--since", ""}, {"dlq", "redrive", "--all", "--group", "", "--yes"}, {"dlq", "redrive", "1", "--new-key", "", "--reason", "x"},
		{"backlog", "retry", "--handler", "orders.paid", "--group", ""}, {"backlog", "cancel", "", "--reason", "x"}, {"consumer", "pause", ""},
	} {
		p.run(exitUsage, nil, args...)
		if !strings.Contains(p.stderr.String(), " is empty") {
			t.Errorf("%q: %s", args, &p.stderr)
		}
	}
	p.run(exitUsage, nil, "dlq", "discard", "1", "--yes", "--reason", strings.Repeat("x", mostText+1))
	p.run(exitUsage, nil, "dlq", "note", "a276", strings.Repeat("x", mostText+1))
	p.run(exitDone, nil, "dlq", "groups", "-o", "json")
	if s := p.stdout.String(); strings.Contains(s, "resolved") || strings.Contains(s, `"muted_by": "`) && !strings.Contains(s, `"muted_by": ""`) {
		t.Errorf("a group was changed: %s", s)
	}
	p.run(exitDone, nil, "dlq", "note", "a276", "the bank is away", "--assign", "ann")
	p.run(exitDone, nil, "dlq", "note", "a276", "", "--assign", "") // which removes both
	p.run(exitDone, nil, "dlq", "groups", "-o", "json")
	if s := p.stdout.String(); strings.Contains(s, "the bank is away") || strings.Contains(s, "ann") {
		t.Errorf("the note is still there: %s", s)
	}
}

// What cannot be written is an error, also where the command has an exit status of its own.
func TestStatusIsNotWritten(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "3")
	for _, args := range [][]string{{"status"}, {"status", "-o", "json"}, {"dlq", "redrive", "1", "--dry-run", "--direct"}} {
		p.run(exitFailed, func(m *Main) { m.Stdout = full{} }, args...)
		if !strings.Contains(p.stderr.String(), "no space left") {
			t.Errorf("%q: %s", args, &p.stderr)
		}
	}
}

// What a command cannot do is told as it is.
func TestRefusals(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "3")
	p.run(exitFailed, nil, "dlq", "why", "999")
	p.wants("no such letter", "no such dead letter: 999")
	p.seed("steps", "s2") // whose message has not ended
	for _, more := range [][]string{nil, {"--dry-run"}} {
		p.run(exitFailed, nil, append([]string{"steps", "erase", "billing/orders.paid", "s2", "--reason", "x", "--yes", "--direct"}, more...)...)
		p.wants("erase", "nothing was erased: the message has no results, or is neither done nor discarded")
	}
	p.dsn += forReading
	p.run(exitNotPermitted, nil, "dlq", "mute", "a276")
	p.wants("read only", "the DSN ends with ?mode=ro")
	if strings.Contains(p.stderr.String(), "does it run") {
		t.Errorf("%s", &p.stderr)
	}
}
