package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const canary = "s3cr%65t-canary" // "%65" is an e

// Invariant 20: no way of showing a DSN shows its password.
//
//evidence:secret
func TestDSNIsRedacted(t *testing.T) {
	for _, dsn := range []string{
		"postgres://app:" + canary + "@db:5432/orders?sslmode=disable",
		"postgresql://db/orders?password=" + canary + "&user=app",
		"postgres://app@db/orders?sslpassword=" + canary,
		"postgres://app:" + canary + "@db:port/orders",
		"postgres://app:%zz" + canary + "@db/orders",
		"postgres://app:" + canary + "@[::1/orders",
		"postgres:// app:" + canary + "@db/orders",
		"postgres://app:" + canary + "\x7f@db/orders",
		"host=db password=" + canary,
		"host=db password = '" + canary + "' user=app",
		"host=db password='" + canary,
		"host=db passwort=" + canary,
		"host=db " + canary,
		"host=db password=x " + canary + "=y",
		"host=db password=x canary=y",
		canary,
	} {
		db, err := parseDSN(dsn)
		shown := db.shown
		if err != nil {
			shown = err.Error()
		}
		if strings.Contains(shown, "canary") {
			t.Errorf("%s is shown as %s", dsn, shown)
		}
	}
}

func TestScrub(t *testing.T) {
	dsn := "postgres://app:" + canary + "@db/orders"
	db, err := parseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var s scrubber
	s.add(db.secrets...)
	for _, text := range []string{canary, "s3cret-canary", "dial postgres://app:" + canary + "@db"} {
		if got := s.clean(text); strings.Contains(got, "canary") {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

// A DSN of pairs is read as libpq reads it, and its secrets are known as they are written
// and decoded.
func TestPairs(t *testing.T) {
	db, err := parseDSN(` user = app password='a\'b\\c d' dbname=o\ r host='' sslpassword=pass\word `)
	if err != nil {
		t.Fatal(err)
	}
	if want := "user=app password=xxxxx dbname=o r host= sslpassword=xxxxx"; db.shown != want {
		t.Errorf("shown %q, want %q", db.shown, want)
	}
	if want := []string{`a'b\c d`, `a\'b\\c d`, `password`, `pass\word`}; !slices.Equal(db.secrets, want) {
		t.Errorf("secrets %q, want %q", db.secrets, want)
	}
}

func locate(t *testing.T, env string, args ...string) (database, string, error) {
	t.Helper()
	var stderr bytes.Buffer
	m := &Main{Stderr: &stderr, Stdout: &stderr, Getenv: func(string) string { return env }}
	root := m.root()
	if err := root.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	db, err := m.locate()
	return db, stderr.String(), err
}

// Bad input 33, 42, 49, 61.
func TestLocate(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // past the umask
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name, env, want, warning, fails string
		args                            []string
	}{
		{name: "nothing", fails: "HEADRACE_DSN"},
		{name: "environment", env: "sqlite:a.db", want: "sqlite:a.db"},
		{name: "flag", args: []string{"--dsn", "sqlite:b.db"}, want: "sqlite:b.db", warning: "list of processes"},
		{name: "flag and environment", env: "sqlite:a.db", args: []string{"--dsn", "sqlite:b.db"}, want: "sqlite:b.db", warning: "not used"},
		{name: "empty flag", env: "sqlite:a.db", args: []string{"--dsn", ""}, fails: "the DSN is empty"},
		{name: "file", args: []string{"--dsn-file", file("ok", "sqlite:c.db\r\n\n", 0o600)}, want: "sqlite:c.db"},
		{name: "readable file", args: []string{"--dsn-file", file("open", "sqlite:c.db", 0o644)}, want: "sqlite:c.db", warning: "all users can read"},
		{name: "empty file", args: []string{"--dsn-file", file("empty", "\n", 0o600)}, fails: "is empty"},
		{name: "two lines", args: []string{"--dsn-file", file("two", "sqlite:a\nsqlite:b\n", 0o600)}, fails: "more than one line"},
		{name: "no file", args: []string{"--dsn-file", filepath.Join(dir, "none")}, fails: "no such file"},
		{name: "another scheme", env: "mysql://h/d", fails: "the DSN cannot be read: give postgres://user@host:5432/database, \"host=… port=5432 user=… dbname=…\", or sqlite:FILE"},
		{name: "bad URL", env: "postgres://h:p/d", fails: "give postgres://user@host:5432/database, \"host=… port=5432"},
		{name: "pairs", env: "host=db  dbname = 'o r' password=secret-canary", want: "host=db dbname=o r password=xxxxx"},
		{name: "broken pairs", env: "host=db dbname='o", fails: "\"host=… port=5432 user=… dbname=…\""},
		{name: "no path", env: "sqlite:", fails: "names no file"},
		{name: "schema on a file", env: "sqlite:a.db", args: []string{"--schema", "s"}, fails: "--schema"},
		{name: "long schema", env: "postgres://h/d", args: []string{"--schema", strings.Repeat("s", 64)}, fails: "63"},
		{name: "socket", env: "postgres:///orders?host=/run/pg", want: "postgres:///orders?host=%2Frun%2Fpg"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, stderr, err := locate(t, c.env, c.args...)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("got %v, want an error with %q", err, c.fails)
				}
				return
			}
			if err != nil || db.shown != c.want || !strings.Contains(stderr, c.warning) || c.warning == "" && stderr != "" {
				t.Errorf("got %q, stderr %q, error %v", db.shown, stderr, err)
			}
		})
	}
}
