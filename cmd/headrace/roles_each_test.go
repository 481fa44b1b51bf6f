package main

import (
	"slices"
	"strings"
	"testing"
)

// asked are the commands that ask a process: the request is refused to the role below, and TestRoles has each kind of
// request asked by the role that may.
var asked = []string{
	"alert test", "backlog cancel", "backlog retry", "dlq discard", "dlq edit", "dlq redrive", "dlq rehearse", "dlq restore",
	"redrive apply", "redrive cancel", "redrive pause", "redrive plan", "redrive resume", "steps erase", "steps resolve", "steps send",
}

// otherArgs are of commands whose arguments of TestJSON lead to nothing here.
var otherArgs = map[string]string{
	"intent show": "billing/orders.paid k1", "system pause": "bank --for 1h --anyway", "dlq rehearse": "1", "dlq edit": "1 --header edited=yes --reason test --yes",
	"dlq restore": "4 --reason test --yes", "dlq discard": "3 --reason test --yes", "dlq redrive": "1 --reason test --yes",
	"steps resolve": "billing/orders.paid s1 payout --done --reason test --yes", "steps send": "billing/orders.paid w1 approval true",
	"steps erase": "billing/orders.paid s2 --reason gdpr --yes", "dlq show": "1", "redrive resume": "R-3", "redrive plan": "--consumer billing",
}

// Each command works with the role that has the fewest rights for it, and the role below may not do what it does.
//
//evidence:roles
func TestEachCommandAsEachRole(t *testing.T) {
	t.Parallel()
	l := newLogins(t)
	owner := l.dsn
	for _, s := range [][2]string{{"dead", "5"}, {"parked", "2"}, {"retried", "gone"}, {"retried", "again"}, {"subscription", "shipping"}, {"schedule", "nightly"}, {"steps", "s1"}, {"steps", "s2"}, {"signal", "w1"}, {"instance", "billing"}} {
		if err := seedDB(owner, l.schema, s[0], s[1]); err != nil {
			t.Fatal(err)
		}
	}
	planned(l.program, l.schema)
	l.may("admin", exitDone, "dlq discard --direct 4 --reason x --yes")
	below := map[string]string{"operator": "viewer", "admin": "operator", "consumer": "admin"}
	tried := 0
	for _, run := range slices.Concat(jsonRuns, redriveRuns) {
		role := roles[run.command]
		if role == "" || role == "owner" || run.command == "prepare" || run.command == "ui" || run.command == "dlq import" { // an import needs a file first
			continue
		}
		args, ok := otherArgs[run.command]
		if !ok {
			args = run.args
		}
		words := append(strings.Fields(run.command+" "+args), "--schema", l.schema)
		l.exec("UPDATE headrace_instances SET beat_at = now()") // there is a process to ask
		if lower := below[role]; lower != "" {
			if got := l.status(lower, words); got != exitNotPermitted {
				t.Errorf("%s as %s exits with %d: %s", run.command, lower, got, &l.stderr)
			}
			tried++
			if c, _, err := New().root().Find(strings.Fields(run.command)); err != nil || c.Flags().Lookup("dry-run") == nil {
				continue
			}
			if got := l.status(lower, append(slices.Clone(words), "--dry-run")); got != exitNotPermitted {
				t.Errorf("%s --dry-run as %s exits with %d: %s", run.command, lower, got, &l.stderr)
			}
		}
		if slices.Contains(asked, run.command) {
			continue
		}
		if got := l.status(role, words); got == exitNotPermitted {
			t.Errorf("%s as %s: %s", run.command, role, &l.stderr)
		}
	}
	if tried < 30 {
		t.Errorf("only %d commands were refused", tried)
	}
}

// status runs a command as a role, and returns its exit status.
func (l *logins) status(role string, words []string) int {
	l.as(role)
	l.stdout.Reset()
	l.stderr.Reset()
	m := New()
	m.Stdin, m.Stdout, m.Stderr = strings.NewReader(""), &l.stdout, &l.stderr
	m.Getenv, m.NoPager = func(string) string { return l.dsn }, true
	return m.Run(l.Context(), words)
}
