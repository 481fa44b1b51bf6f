package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// leads are the commands that each one leads to, as TestJSON calls it, but for these.
var leads = map[string]string{
	"alert ls": "dlq why a2760b6d90f6c678 --consumer billing --handler orders.paid", "alert test": "alert ls", "status": "dlq why a2760b6d90f6c678 --consumer billing --handler orders.paid",
	"consumer ls": "consumer resume billing", "consumer pause": "consumer resume billing", "consumer resume": "consumer ls billing",
	"dlq ls": "dlq show [0-9]+", "dlq groups": "dlq why a2760b6d90f6c678 --consumer billing --handler orders.paid", "dlq show": "dlq why a2760b6d90f6c678 --consumer billing --handler orders.paid",
	"dlq export": "dlq groups", "dlq why": "steps s2", "dlq redrive": "dlq show 1",
	"dlq note": "dlq why a27.*", "dlq mute": "dlq why a27.*", "dlq unmute": "dlq why a27.*", "dlq resolve": "dlq why a27.*",
	"backlog ls": "backlog show 1", "backlog groups": "backlog ls --consumer billing --handler orders.paid --group [0-9a-f]+", "backlog show": "backlog retry --consumer billing --handler orders.paid -- later",
	"inbox show": "backlog ls .*", "outbox status": "outbox parked --outbox default", "outbox parked": "outbox unpark 1", "outbox unpark": "outbox status",
	"subscription move": "subscription ls", "subscription remove": "subscription ls", "system pause": "system resume bank", "system ls": "system resume bank", "system resume": "system ls",
	"dlq rehearse": "dlq redrive 3 --reason WHY", "dlq edit": "dlq rehearse 3", "dlq restore": "dlq show 3", "backlog cancel": "dlq show [0-9]+", "backlog retry": "backlog ls --consumer billing",
	"redrive plan": "redrive apply R-1 --reason WHY", "redrive apply": "", "redrive show": "", "redrive watch": "", "redrive ls": "redrive show R-1", "redrive letters": "redrive show R-1",
	"redrive pause": "redrive resume R-2", "redrive resume": "redrive watch R-2", "redrive cancel": "dlq groups --consumer billing", "dlq discard": "dlq groups --consumer billing",
}

var nextWords = regexp.MustCompile(`(?m)^headrace: next: headrace (.*)$`)

// Each command ends with the next one, which can be pasted and works, also where handlers share a group's
// fingerprint.
//
//evidence:command
func TestNextCommands(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	for _, s := range [][2]string{
		{"dead", "3"}, {"conflict", "k1"}, {"parked", "2"}, {"postponed", "later"}, {"retried", "gone"}, {"retried", "again"}, {"subscription", "shipping"}, {"alerts", "billing"},
		{"schedule", "nightly"}, {"answered", "answered"}, {"steps", "s1"}, {"steps", "s2"}, {"signal", "w1"}, {"dead-other", "1"}, {"instance", "billing"},
	} {
		p.seed(s[0], s[1])
	}
	p.stdin = "k1\nk8\nk9\n"
	file := filepath.Join(t.TempDir(), "letters")
	var b billing
	for i, run := range slices.Concat(jsonRuns, redriveRuns) {
		if i == len(jsonRuns) {
			b.start(p, "v1.2.3")
		}
		args := append(strings.Fields(run.command), strings.Fields(strings.Replace(run.args, "FILE", file, 1))...)
		if run.command == "prepare" {
			args = args[1:]
		}
		if slices.Contains(args, "a276") && !slices.Contains(args, "--handler") {
			args = append(args, "--handler", "orders.paid") // another has letters of that fingerprint
		}
		switch run.command {
		case "redrive plan":
			args = append(args, "--consumer", "billing")
		case "dlq redrive": // 7 is that of the other consumer
			args = slices.Replace(args, 3, 4, "8")
		}
		p.run(run.status, nil, args...)
		if run.command == "prepare" {
			continue
		}
		found := nextWords.FindStringSubmatch(p.stderr.String())
		want, leadsOn := leads[run.command]
		switch {
		case found == nil && want != "":
			t.Errorf("%v leads nowhere: %s", args, &p.stderr)
		case found != nil && leadsOn && !regexp.MustCompile("^"+want+"$").MatchString(found[1]):
			t.Errorf("%v leads to %q, want %q", args, found[1], want)
		}
		if found != nil {
			p.paste(found[1])
		}
	}
}

// paste tries a command line that another one named: the whole command if it reads, else its dry run.
func (p *program) paste(line string) {
	p.Helper()
	args := strings.Fields(strings.NewReplacer("WHY", "why", "KEY", "another").Replace(line))
	c, _, err := New().root().Find(args)
	if err != nil {
		p.Errorf("%s: %v", line, err)
		return
	}
	if c.Flags().Lookup("dry-run") != nil {
		args = slices.Insert(args, len(strings.Fields(pathOf(c))), "--dry-run")
	}
	if slices.Contains([]string{"redrive plan", "redrive watch"}, pathOf(c)) { // one has a number, and the other waits
		return
	}
	if got := p.status(args); got != exitDone && got != exitPartial {
		p.Errorf("%s exits with %d: %s", line, got, &p.stderr)
	}
}

func (p *program) status(args []string) int {
	p.stdout.Reset()
	p.stderr.Reset()
	m := New()
	m.Stdin, m.Stdout, m.Stderr = strings.NewReader(p.stdin), &p.stdout, &p.stderr
	m.Getenv, m.NoPager = func(string) string { return p.dsn }, true
	return m.Run(p.Context(), args)
}
