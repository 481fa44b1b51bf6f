package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// children returns the processes that this one has started and that are not gone.
func children(t *testing.T) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		t.Skip("there is no /proc to look for child processes")
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // gone
		}
		_, rest, _ := bytes.Cut(stat, []byte(") ")) // state and parent come after the name
		if fields := bytes.Fields(rest); len(fields) > 1 && string(fields[1]) == strconv.Itoa(os.Getpid()) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// A child process that outlived its benchmark would take messages from the next one.
func TestNoChildIsLeft(t *testing.T) {
	l := testLab(t)
	for _, b := range killPart() {
		if _, err := l.measure(t.Context(), b, amount{messages: 100}); err != nil {
			t.Fatal(err)
		}
		if left := children(t); len(left) > 0 {
			t.Errorf("%s left the processes %v", b.name, left)
		}
		ctx, cancel := context.WithCancel(t.Context())
		l.started = cancel
		if _, err := l.measure(ctx, b, amount{time: 2 * time.Second}); err == nil {
			t.Errorf("%s has a figure of a run that was cut short", b.name)
		}
		l.started = func() {}
		if left := children(t); len(left) > 0 {
			t.Errorf("%s left the processes %v when it was cut short", b.name, left)
		}
	}
}

func TestProcess(t *testing.T) {
	l := testLab(t)
	start := func(name string) *process {
		t.Helper()
		p, err := l.startRestarting(restarting{Consumer: name, InFlight: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.kill)
		if _, err := l.awaitInvoices(t.Context(), p, 1, 0); err != nil {
			t.Fatal(err)
		}
		if pids := children(t); !slices.Equal(pids, []int{p.cmd.Process.Pid}) {
			t.Fatalf("the processes %v run, want %d alone", pids, p.cmd.Process.Pid)
		}
		return p
	}
	// Its input ends when it is told to stop, and when its parent dies.
	stopped := start("stopped")
	figure, err := stopped.stop(t.Context())
	if err != nil || figure.Messages == 0 || figure.Rate == 0 {
		t.Errorf("figure %+v (%v) of a process that was stopped", figure, err)
	}
	if err := l.prepare(t.Context(), nil, amount{}); err != nil {
		t.Fatal(err)
	}
	killed := start("killed")
	killed.kill()
	killed.kill()
	if killed.err == nil || killed.cmd.ProcessState == nil || killed.cmd.ProcessState.ExitCode() != -1 {
		t.Errorf("error %v and state %v of a process that was killed", killed.err, killed.cmd.ProcessState)
	}
	if _, err := killed.stop(t.Context()); err == nil {
		t.Error("a process that was killed has a figure")
	}
}

// What comes again after a kill is what a broker would give again.
func TestUnapplied(t *testing.T) {
	l := testLab(t)
	look := func() string {
		t.Helper()
		again, next, err := l.unapplied(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(again, next)
	}
	if got := look(); got != "[] 0" {
		t.Errorf("of no messages %s come again, want none, and 0 next", got)
	}
	for _, n := range []uint64{0, 1, 4, 6} {
		if _, err := l.db.ExecContext(t.Context(), l.query("invoice"), uuid(n), "EUR", 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := look(); got != "[2 3 5] 7" {
		t.Errorf("%s come again, want 2, 3 and 5, and 7 next", got)
	}
}
