package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/pgtest"
)

// childVariable holds the arguments of a process that a test kills.
const childVariable = "NOBROKER_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childVariable); args != "" {
		if err := program(context.Background(), strings.Split(args, "\n"), os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// want are the figures of n requests, all of them done once.
func want(n int) []string {
	return []string{
		fmt.Sprintf("%-14s %6d  ", "requests", n), fmt.Sprintf("%-14s %6d  ", "orders", n), fmt.Sprintf("%-14s %6d  ", "invoices", n),
		fmt.Sprintf("%-14s %6d  ", "lost", 0), fmt.Sprintf("%-14s %6d  ", "applied twice", 0),
	}
}

func runs(t *testing.T, n int, args ...string) {
	t.Helper()
	var out bytes.Buffer
	if err := program(t.Context(), append([]string{"-n", fmt.Sprint(n)}, args...), &out, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, line := range want(n) {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no line %q in\n%s", line, &out)
		}
	}
}

func TestSQLite(t *testing.T) { runs(t, 200) }

func TestPostgres(t *testing.T) {
	dsn, _ := pgtest.New(t)
	runs(t, 200, "-dsn", dsn)
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-n", "-1"}, {"-db", "a", "-dsn", "b"}, {"left"}} {
		if err := program(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer)); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}

// Kills: the process is killed again and again while events are on their way from one
// consumer to the other; what the last one finds is that each was applied once
// (INVARIANTS 1, 2, 6; faults 1 to 3).
func TestKilledInTheMiddle(t *testing.T) {
	dsn, _ := pgtest.New(t)
	for name, args := range map[string][]string{
		"sqlite": {"-db", filepath.Join(t.TempDir(), "killed.db")}, "postgres": {"-dsn", dsn},
	} {
		t.Run(name, func(t *testing.T) {
			const n, kills = 400, 3
			s, err := openFor(t, args)
			if err != nil {
				t.Fatal(err)
			}
			for k := range kills {
				// Killed once it has made this many invoices: a place in the work, not a time.
				killAt(t, s.DB, append([]string{"-n", fmt.Sprint(n)}, args...), (k+1)*n/(kills+2))
			}
			runs(t, n, args...)
			check(t, s)
		})
	}
}

func openFor(t *testing.T, args []string) (*shop, error) {
	t.Helper()
	file, dsn := args[1], ""
	if args[0] == "-dsn" {
		file, dsn = "", args[1]
	}
	s, err := open(t.Context(), file, dsn)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

// killAt starts the program and kills it when there are that many invoices.
func killAt(t *testing.T, db *sql.DB, args []string, invoices int) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+strings.Join(args, "\n"))
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM invoices").Scan(&n); err != nil {
			t.Error(err)
			break
		}
		if n >= invoices {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("%d invoices", n)
			break
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("it was done before it could be killed")
	}
}

// check runs the invariants of the store.
func check(t *testing.T, s *shop) {
	t.Helper()
	if err := s.Invariants(t.Context()); err != nil {
		t.Error(err)
	}
}
