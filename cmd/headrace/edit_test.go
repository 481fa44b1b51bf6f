package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A person edits in an editor, sees where the content differs and confirms it; a new key is confirmed
// by the key.
func TestEditOnATerminal(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.seed("dead", "1")
	p.seed("conflict", "k1")
	var b billing
	b.start(p, "v1")
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nsed -i 's/payload-canary/right/' \"$1\"; echo >> \"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	terminal := func(m *Main) {
		m.Terminal = func(any) bool { return true }
		getenv := m.Getenv
		m.Getenv = func(name string) string {
			switch name {
			case "VISUAL":
				return ""
			case "EDITOR":
				return editor
			}
			return getenv(name)
		}
	}
	p.run(exitDone, terminal, "dlq", "why", "c0c0")
	if got := p.stderr.String(); !strings.Contains(got, "next: headrace dlq redrive 2 --new-key KEY --reason WHY") || !strings.Contains(got, "dlq discard c0c0c0c0c0c0c0c0 --reason WHY") || strings.Contains(got, "rehearse") {
		t.Errorf("of a conflict: %s", got)
	}
	for _, c := range []struct {
		answer, args string
		status       int
		says         string
	}{
		{"n", "dlq edit 1 --reason x", exitRefused, "changed $.canary"},
		{"y", "dlq edit 1 --reason x", exitDone, "next: headrace dlq rehearse 1"},
		{"y", "dlq redrive 2 --new-key k0 --reason x", exitRefused, "Type k0 to go on:"},
		{"k0", "dlq redrive 2 --new-key k0 --reason x", exitDone, "next: headrace inbox show -- k0"},
	} {
		p.stdin = c.answer + "\n"
		p.run(c.status, terminal, strings.Fields(c.args)...)
		if !strings.Contains(p.stderr.String(), c.says) {
			t.Errorf("%s: %s", c.args, p.stderr.String())
		}
	}
	p.run(exitDone, nil, "dlq", "show", "1", "--payload")
	if !strings.Contains(p.stdout.String(), `{"canary":"right"}`) {
		t.Error(p.stdout.String())
	}
}
