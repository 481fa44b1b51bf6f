//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// interrupter is a stderr that sends this process a SIGINT at the first line of progress,
// and waits until it has arrived.
type interrupter struct {
	bytes.Buffer
	t       *testing.T
	work    context.Context
	stopped bool
}

func (i *interrupter) Write(b []byte) (int, error) {
	if i.work != nil && !i.stopped {
		i.stopped = true
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			i.t.Error(err)
		}
		<-i.work.Done()
	}
	return i.Buffer.Write(b)
}

// setUp makes it the stderr of a command.
func (i *interrupter) setUp(m *Main) {
	m.Stderr, m.ProgressEvery = i, 0
	m.Interruptible = func(ctx context.Context) (context.Context, context.CancelFunc) {
		work, stop := interruptible(ctx)
		i.work = work
		return work, stop
	}
}

// Bad input 59: Ctrl-C in the middle says how many, exits with 130, and can go on.
func TestInterruptedRedrive(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "60")
	stderr := &interrupter{t: t}
	p.run(exitInterrupted, stderr.setUp, "dlq", "redrive", "--direct", "--all", "--yes")
	var done int
	if _, err := fmt.Sscanf(p.stdout.String(), "%d redriven", &done); err != nil || done == 0 || done == 60 {
		t.Fatalf("%q: %v", p.stdout.String(), err)
	}
	for _, want := range []string{
		fmt.Sprintf("redriven %d of 60", done),
		fmt.Sprintf("interrupted after %d letters; the same command goes on with the rest", done),
	} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q lacks %q", stderr.String(), want)
		}
	}
	p.run(exitDone, nil, "check")
	p.run(exitDone, nil, "dlq", "redrive", "--direct", "--all", "--yes")
	if got, want := p.stdout.String(), fmt.Sprintf("%d redriven\n", 60-done); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Who no longer waits for an answer is told that what was asked for stays.
func TestInterruptedRequest(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "3")
	p.seed("instance", "billing") // which never answers
	db, err := sql.Open("sqlite", strings.TrimPrefix(p.dsn, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	asked := func() (n int) {
		if err := db.QueryRow("SELECT count(*) FROM headrace_requests").Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	p.run(exitInterrupted, func(m *Main) {
		m.Interruptible = func(ctx context.Context) (context.Context, context.CancelFunc) {
			work, stop := context.WithCancel(ctx)
			go func() {
				for asked() == 0 && work.Err() == nil {
					time.Sleep(askEvery)
				}
				stop()
			}()
			return work, stop
		}
	}, "redrive", "plan", "--consumer", "billing")
	p.wants("interrupted", "interrupted: what was asked for is not taken back, and a process of billing may still do it: headrace consumer ls billing")
	if n := asked(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// oldMessages writes messages that were handled long ago.
const oldMessages = `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
INSERT INTO headrace_inbox (scope, key, state, fingerprint, changed_at) SELECT 'billing/orders.paid', 'm' || n, 'done', 'f', n FROM n`

// The same for a prune: what went is said, and nothing is left half.
func TestInterruptedPrune(t *testing.T) {
	p := newProgram(t)
	db, err := sql.Open("sqlite", strings.TrimPrefix(p.dsn, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(oldMessages)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	stderr := &interrupter{t: t}
	p.run(exitInterrupted, stderr.setUp, "prune", "--source-retention", "1h")
	var done int
	if _, err := fmt.Sscanf(p.stdout.String(), "%d messages", &done); err != nil || done == 0 || done == 5000 {
		t.Fatalf("%q: %v", p.stdout.String(), err)
	}
	if want := fmt.Sprintf("interrupted after %d messages and 0 letters; the same command goes on with the rest", done); !strings.Contains(stderr.String(), want) {
		t.Errorf("%q lacks %q", stderr.String(), want)
	}
	p.run(exitDone, nil, "check")
	p.run(exitDone, nil, "prune", "--source-retention", "1h")
	if got, want := p.stdout.String(), fmt.Sprintf("%d messages and 0 letters removed", 5000-done); !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
