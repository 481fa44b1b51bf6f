package main

import (
	"strings"
	"testing"
)

// More than a thousand letters and a discard of a group are confirmed by a name, and anything else
// by a yes.
func TestConfirmByName(t *testing.T) {
	t.Parallel()
	terminal := func(m *Main) { m.Terminal = func(any) bool { return true } }
	p := newProgram(t)
	p.seed("dead", "1002")
	p.seed("conflict", "k1")
	for _, c := range []struct {
		answer, args string
		status       int
	}{
		{"yes", "dlq redrive --direct --all", exitRefused},
		{"all", "dlq redrive --direct --all --dry-run", exitDone},
		{"billing", "dlq redrive --direct --all", exitRefused},
		{"", "dlq redrive --direct --consumer billing", exitRefused},
		{"yes", "dlq discard --direct --group c0c0 --reason x", exitRefused},
		{"c0c", "dlq discard --direct --group c0c0 --reason x", exitRefused},
		{"c0c0c0c0c0c0c0c00", "dlq discard --direct --group c0c0 --reason x", exitRefused},
		{"a2760", "dlq discard --direct --group a276 --limit 1 --reason x", exitPartial},
		{"y", "dlq redrive --direct --group a276 --limit 1", exitPartial},
		{"billing", "dlq redrive --direct --consumer billing --where $.none", exitFailed},
		{"y", "dlq redrive --direct --consumer billing --since 1h --limit 999", exitPartial},
		{"y", "dlq redrive --direct --all", exitPartial}, // not the conflict
	} {
		p.stdin = c.answer + "\n"
		p.run(c.status, terminal, strings.Fields(c.args)...)
	}
}

// The progress for programs is JSON, on a terminal too.
func TestProgressLines(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "30")
	p.run(exitDone, func(m *Main) { m.Terminal = func(any) bool { return true }; m.ProgressEvery = 0 }, "dlq", "redrive", "--direct", "--all", "--yes", "--progress", "ndjson")
	if want := `{"v":1,"progress":"redriven","done":10,"total":30}` + "\n"; !strings.HasPrefix(p.stderr.String(), want) {
		t.Errorf("%q", p.stderr.String())
	}
}
