package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// program is the command in this process, on a database of its own.
type program struct {
	*testing.T
	dsn            string
	stdin          string
	stdout, stderr bytes.Buffer
}

func newProgram(t *testing.T) *program {
	p := &program{T: t, dsn: "sqlite:" + filepath.Join(t.TempDir(), "test.db")}
	p.run(exitDone, nil, "migrate", "up")
	return p
}

// run runs a command with what change does to it, and wants an exit status.
func (p *program) run(want int, change func(*Main), args ...string) {
	p.Helper()
	p.stdout.Reset()
	p.stderr.Reset()
	m := New()
	m.Stdin, m.Stdout, m.Stderr = strings.NewReader(p.stdin), &p.stdout, &p.stderr
	m.Getenv, m.NoPager = func(string) string { return p.dsn }, true
	if change != nil {
		change(m)
	}
	if got := m.Run(context.Background(), args); got != want {
		p.Fatalf("%v exits with %d, want %d\n%s%s", args, got, want, &p.stdout, &p.stderr)
	}
}

func (p *program) seed(what, arg string) {
	p.Helper()
	if err := seedDB(p.dsn, "", what, arg); err != nil {
		p.Fatal(err)
	}
}

// A bar is drawn on a terminal, and its goroutines are gone at the end (TestMain).
func TestProgressBar(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "30")
	p.stdin = "yes\n"
	p.run(exitDone, func(m *Main) { m.Terminal = func(any) bool { return true } }, "dlq", "redrive", "--direct", "--all")
	if !strings.Contains(p.stderr.String(), "redrive 30 letters? [y/N]") || p.stdout.String() != "30 redriven\n" {
		t.Errorf("%q\n%q", p.stderr.String(), p.stdout.String())
	}
}

// The same for what is pruned, whose rows are counted before.
func TestPruneBar(t *testing.T) {
	p := newProgram(t)
	p.seed("done", "k")
	p.run(exitDone, func(m *Main) { m.Terminal = func(any) bool { return true } }, "prune", "--source-retention", "1h")
	if p.stdout.String() != "0 messages and 0 letters removed (window 7 days 18 h 10 min)\n" {
		t.Errorf("%q", p.stdout.String())
	}
}

// closed is a pipe without a reader.
type closed struct{}

func (closed) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}
}

// Bad input 57: the reader has gone, which is no failure; what cannot be written is one.
func TestOutput(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "30")
	p.run(exitDone, func(m *Main) { m.Stdout = closed{} }, "dlq", "ls")
	p.run(exitDone, func(m *Main) { m.Stdout = closed{} }, "dlq", "redrive", "--direct", "--key", "k1", "--yes")
	if p.stderr.Len() > 0 {
		t.Errorf("not quiet: %s", &p.stderr)
	}
	p.run(exitFailed, func(m *Main) { m.Stdout = full{} }, "dlq", "ls")
	if !strings.Contains(p.stderr.String(), "no space left") {
		t.Errorf("%s", &p.stderr)
	}
}

// Bad input 17: what is echoed of a command line does nothing to a terminal.
func TestEcho(t *testing.T) {
	p := newProgram(t)
	for _, args := range [][]string{{"dlq", "\x1b[2J"}, {"dlq", "ls", "--\x1b[2J"}, {"dlq", "ls", "--since", "\x1b[2J"}, {"dlq", "show", "\x1b[2J"}} {
		p.run(exitUsage, nil, args...)
		if !strings.Contains(p.stderr.String(), `\x1b[2J`) || strings.Contains(p.stderr.String(), "\x1b") {
			t.Errorf("%q: %q", args, p.stderr.String())
		}
	}
}
