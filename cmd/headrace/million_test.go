package main

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/redriving"
)

//go:embed testdata/million
var million embed.FS

// lettersVariable says how many letters the databases of these tests have: make million.
const lettersVariable = "HEADRACE_TEST_LETTERS"

// letters is how many letters the tests have, with ten messages for each.
func letters(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv(lettersVariable))
	if err != nil {
		n = 5000
	}
	t.Logf("%d letters", n)
	return n
}

// crowded is a database with many letters, a plan of all that are open, R-1, and one of a part, R-2.
type crowded struct {
	*testing.T
	letters int
	dsn     string
	direct  string // the DSN as it was made
}

// crowd fills a database of a kind, which is migrated.
func crowd(t *testing.T, kind string, letters int) *crowded {
	t.Helper()
	c := &crowded{T: t, letters: letters}
	driver := "postgres"
	if kind == "sqlite" {
		file := filepath.Join(t.TempDir(), "crowded.db")
		driver, c.dsn, c.direct = "sqlite", "sqlite:"+file, file
	} else {
		c.dsn = pgtest.NewDatabase(t)
		c.direct = c.dsn
	}
	c.run(exitDone, "migrate", "up")
	db, err := sql.Open(driver, c.direct)
	c.must(err)
	db.SetMaxOpenConns(1)
	began := time.Now()
	files, err := fs.Glob(million, "testdata/million/"+kind+"/[0-9A-Z]_*.sql")
	c.must(err)
	for _, file := range files {
		c.exec(db, file, letters)
	}
	c.in(func(st openStore) error {
		o := st.Operations()
		if err := o.Groups.Recount(t.Context()); err != nil {
			return err
		}
		for i := range 6 {
			self := instance.Instance{ID: fmt.Sprint(i), Consumer: "billing", Host: fmt.Sprint("pod-", i), Build: "v1.9", Handlers: []string{"h1", "h2"}}
			if err := o.Instances.Start(t.Context(), self); err != nil {
				return err
			}
		}
		return nil
	})
	c.exec(db, "testdata/million/"+kind+"/changes.sql", letters)
	c.exec(db, "testdata/million/"+kind+"/large.sql", letters)
	t.Logf("filled in %s", time.Since(began).Round(time.Second))
	c.plan(redriving.Plan{Kind: job.Redriving, Options: job.DefaultOptions()})
	if kind == "postgres" {
		c.exec(db, "testdata/million/postgres/analyze.sql", letters)
	}
	c.must(db.Close())
	return c
}

func (c *crowded) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// exec runs a statement, with the number of letters where it asks for it.
func (c *crowded) exec(db *sql.DB, file string, letters int) {
	c.Helper()
	text, err := million.ReadFile(file)
	c.must(err)
	var args []any
	if strings.Contains(string(text), "$1") {
		args = append(args, letters)
	}
	if _, err := db.ExecContext(c.Context(), string(text), args...); err != nil {
		c.Fatalf("%s: %v", path.Base(file), err)
	}
}

// in runs f with the database open.
func (c *crowded) in(f func(openStore) error) {
	c.Helper()
	db, err := parseDSN(c.dsn)
	c.must(err)
	st, err := New().open(context.Background(), db, "", false)
	c.must(err)
	c.must(errors.Join(f(st), st.Close()))
}

// plan plans as a process of the consumer does.
func (c *crowded) plan(p redriving.Plan) (r job.Redrive) {
	c.Helper()
	c.in(func(st openStore) (err error) {
		began := time.Now()
		r, err = (&redriving.Engine{Store: st, Consumer: "billing"}).Plan(c.Context(), p, "ann")
		c.Logf("%s: %d letters are planned, %.0f a second", job.Name(r.ID), r.Count, float64(r.Count)/time.Since(began).Seconds())
		return err
	})
	return r
}

// run runs a command in this process, and returns what it prints.
func (c *crowded) run(want int, args ...string) string {
	c.Helper()
	var out strings.Builder
	m := New()
	m.Stdin, m.Stdout, m.Stderr, m.NoPager = strings.NewReader(""), &out, &out, true
	m.Getenv = func(name string) string {
		if name == "HEADRACE_DSN" {
			return c.dsn
		}
		return ""
	}
	if got := m.Run(context.Background(), args); got != want {
		c.Errorf("%v exits with %d, want %d\n%s", args, got, want, out.String())
	}
	return out.String()
}
