package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/pgtest"
)

func TestMain(m *testing.M) {
	testscript.Main(leakTest{m}, map[string]func(){"headrace": main})
}

// leakTest fails the tests if goroutines are left.
type leakTest struct{ m *testing.M }

func (l leakTest) Run() int {
	code := l.m.Run()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// The scripts run the program as a process of its own.
//
//evidence:command
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script", func(e *testscript.Env) {
		e.Setenv("HEADRACE_DSN", "sqlite:"+filepath.Join(e.WorkDir, "test.db"))
	})
}

//evidence:command
func TestScriptsOnPostgres(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.New(t)
	runScripts(t, "testdata/postgres", func(e *testscript.Env) {
		e.Setenv("HEADRACE_DSN", dsn)
		e.Setenv("SCHEMA", schema)
	})
}

func runScripts(t *testing.T, dir string, setup func(*testscript.Env)) {
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			setup(e)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "seed": seed, "ids": ids, "sql": runSQL, "process": process,
		},
	})
}

// exits runs a program and wants an exit status: exits 2 headrace dlq.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var failed *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &failed):
		got = failed.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s exits with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// ids writes the numbers FROM to TO into FILE, one a line, each TIMES times.
func ids(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: ids FILE FROM TO TIMES")
	}
	var n [3]int
	for i := range n {
		var err error
		n[i], err = strconv.Atoi(args[i+1])
		ts.Check(err)
	}
	var b strings.Builder
	for range n[2] {
		for id := n[0]; id <= n[1]; id++ {
			fmt.Fprintln(&b, id)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}

// runSQL runs a statement on the SQLite file of HEADRACE_DSN, as another program would.
func runSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sql STATEMENT")
	}
	path := strings.TrimPrefix(ts.Getenv("HEADRACE_DSN"), "sqlite:")
	db, err := sql.Open("sqlite", path)
	ts.Check(err)
	defer func() { ts.Check(db.Close()) }()
	_, err = db.Exec(args[0])
	ts.Check(err)
}
