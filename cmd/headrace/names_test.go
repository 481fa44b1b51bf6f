package main

import (
	"slices"
	"strings"
	"testing"
)

// -o name prints the names of what a command lists, and each other command refuses it before it does
// anything.
func TestNames(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	for _, s := range [][2]string{{"dead", "2"}, {"parked", "1"}, {"retried", "again"}, {"schedule", "nightly"}, {"steps", "s1"}, {"instance", "billing"}, {"instance-staging", "billing"}} {
		p.seed(s[0], s[1])
	}
	planned(p, "")
	p.run(exitDone, nil, "system", "pause", "bank", "--for", "1h")
	p.stdin = "k1\nk9\n"
	want := map[string]string{
		"audit ls": "8 7 6 5 4 3 2 1", "backlog groups": "968c37b600063492", "backlog ls": "1", "consumer ls": "billing", "dlq groups": "a2760b6d90f6c678", "dlq ls": "3 2 1",
		"inbox missing": "k9", "outbox parked": "1", "outbox status": "default", "redrive letters": "1 2 3", "redrive ls": "R-3 R-2 R-1",
		"schedule ls": "nightly", "steps find": "s1", "steps ls": "s1", "system ls": "bank",
	}
	before := p.dump()
	for _, run := range slices.Concat(jsonRuns, redriveRuns) {
		args := append(strings.Fields(run.command+" "+run.args), "-o", "name")
		names, ok := want[run.command]
		switch {
		case run.command == "prepare":
		case ok:
			p.run(run.status, nil, args...)
			if got := strings.Join(strings.Fields(p.stdout.String()), " "); got != names && run.command != "audit ls" || got == "" {
				t.Errorf("%s prints %q, want %q", run.command, got, names)
			}
			delete(want, run.command)
		default:
			p.run(exitUsage, nil, args...)
			if says := p.stderr.String(); !strings.Contains(says, "headrace "+run.command+" has no names to print; give -o table, json or ndjson") || p.stdout.Len() > 0 {
				t.Errorf("%v: %s%s", args, says, &p.stdout)
			}
		}
		p.stdin = "k1\nk9\n"
	}
	if len(want) > 0 {
		t.Errorf("not tried: %v", want)
	}
	if after := p.dump(); after != before {
		t.Errorf("it writes:\n%s", differs(before, after))
	}
	p.run(exitDone, nil, "dlq", "groups", "--state", "any", "-o", "name")
	if got := p.stdout.String(); got != "a2760b6d90f6c678\n" {
		t.Errorf("%q", got)
	}
}

// A list has the same columns whatever it is narrowed by.
func TestSameColumns(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.seed("dead", "3")
	p.seed("retried", "gone")
	var b billing
	b.start(p, "v1.2.3")
	p.run(exitDone, nil, "backlog", "cancel", "gone", "--reason", "x", "--yes")
	head := func(args ...string) string {
		p.run(exitDone, nil, append([]string{"dlq", "groups"}, args...)...)
		title, _, _ := strings.Cut(p.stdout.String(), "\n")
		return strings.Join(strings.Fields(title), " ")
	}
	open := head()
	for _, args := range []string{"--state any", "--state redriven", "--class exhausted", "--topic orders", "--class cancelled"} {
		if got := head(strings.Fields(args)...); got != open {
			t.Errorf("dlq groups %s has %q, without it %q", args, got, open)
		}
	}
	if !strings.Contains(p.stderr.String(), "next: headrace dlq show 4\n") {
		t.Errorf("cancelled letters are in no group, and it says %q", &p.stderr)
	}
	p.run(exitDone, nil, "dlq", "discard", "--direct", "1", "--reason", "x", "--yes")
	p.run(exitDone, nil, "dlq", "groups", "--state", "discarded", "-o", "json")
	if s := p.stdout.String(); !strings.Contains(s, `"count": 1`) || !strings.Contains(s, `"open": 2`) || !strings.Contains(s, `"state": "new"`) {
		t.Errorf("%s", s)
	}
}
