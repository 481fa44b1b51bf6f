package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/store"
)

// wantRefused fails the test unless Open refuses path with an error that says each
// of words.
func wantRefused(t *testing.T, path string, o Options, words ...string) error {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err == nil {
		t.Errorf("Open(%q, %+v) worked", path, o)
		_ = s.Close()
		return nil
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Open(%q, %+v): %v; want %q in it", path, o, err, word)
		}
	}
	return err
}

//evidence:sqlite-durable
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for path, word := range map[string]string{
		":memory:":                     "temporary file", // TRAPS: a database for each connection
		filepath.Join(dir, ":memory:"): "temporary file",
		"file::memory:?cache=shared":   "temporary file",
		"file:/m?vfs=memdb":            "temporary file",
		"file:test.db":                 "path",
		"":                             "empty",
		"a\x00b":                       "NUL",
		dir:                            "regular file",
		filepath.Join("no", "such", "directory.db"): "no directory",
	} {
		wantRefused(t, path, Options{Migrate: true}, word)
	}
	for _, o := range []Options{
		{Migrate: true, Unchecked: true}, {BusyTimeout: -1}, {BusyTimeout: time.Microsecond}, {BusyTimeout: 25 * time.Hour}, {ReadConns: -1},
	} {
		wantRefused(t, "test.db", o, "Options.")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestOpenChangesNothing: a file that does not fit is refused with what to run, and
// is the same byte for byte: not even its journal mode changes (bad input 60).
//
//evidence:schema
func TestOpenChangesNothing(t *testing.T) {
	dir := t.TempDir()
	make := func(name string, statements ...string) string {
		path := filepath.Join(dir, name)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		for _, s := range statements {
			if _, err := db.ExecContext(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	table := "CREATE TABLE headrace_meta (id TEXT, version INTEGER, readable_from INTEGER)"
	for _, c := range []struct {
		path   string
		schema bool // store.ErrSchema
		word   string
	}{
		{make("foreign.db", "CREATE TABLE orders (id INTEGER)"), true, "headrace migrate up"},
		{make("newer.db", table, "INSERT INTO headrace_meta VALUES ('x', 99, 99)"), true, "newer build"},
		{make("pre-release.db", table, "INSERT INTO headrace_meta VALUES ('x', 1, 1)"), true, "drop the tables headrace_*"},
		{make("older.db", table, "INSERT INTO headrace_meta VALUES ('x', 0, 0)"), true, "headrace migrate up"},
		{write("empty.db", ""), true, "headrace migrate up"},
		{write("letter.txt", strings.Repeat("no database at all\n", 500)), false, "not a database"},
		{write("short.txt", "x"), false, "not a database"},
	} {
		before, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if err := wantRefused(t, c.path, Options{}, c.word); errors.Is(err, store.ErrSchema) != c.schema {
			t.Errorf("%s: %v; ErrSchema: %t", c.path, err, !c.schema)
		}
		after, err := os.ReadFile(c.path)
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s was changed (%v)", c.path, err)
		}
	}
	// Asked to migrate, the two that are no database are refused all the same.
	for _, name := range []string{"letter.txt", "short.txt"} {
		wantRefused(t, filepath.Join(dir, name), Options{Migrate: true})
		if after, err := os.ReadFile(filepath.Join(dir, name)); err != nil || bytes.HasPrefix(after, []byte("SQLite")) {
			t.Errorf("%s was overwritten (%v)", name, err)
		}
	}
}

func TestOpenMissing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "test.db")
	if err := wantRefused(t, path, Options{}, "headrace migrate up"); !errors.Is(err, store.ErrSchema) {
		t.Errorf("a file that is not there: %v, want ErrSchema", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	s := openAt(t, path, Options{Migrate: true})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v, want 0600: it holds payloads", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openAt(t, path, Options{}) // and now it fits
}

// TestPaths: names that mean something in a URI or in a DSN name the file that
// they name.
func TestPaths(t *testing.T) {
	for _, name := range []string{
		"with space.db", "question?mode=memory.db", "?_pragma=synchronous(OFF)", "hash#1.db", "percent%41.db", "100%.db",
		"plus+and&amp;.db", "semi;colon.db", "quote'\".db", "caf\u00e9.db", "back\\slash.db", "new\nline.db", "-dash.db", "~tilde.db", "a=b.db",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			s := openAt(t, path, Options{Migrate: true})
			mustExec(t, s, "CREATE TABLE effects (key TEXT)")
			write(t, s, "a")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 || left[0].Name() != name {
				t.Errorf("in the directory: %v, %v, want only %q", left, err, name)
			}
		})
	}
}

func TestRelativePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	s := openAt(t, "test.db", Options{Migrate: true})
	t.Chdir(t.TempDir()) // the store stays where it was
	mustExec(t, s, "CREATE TABLE effects (key TEXT)")
	write(t, s, "a")
	if _, err := os.Stat(filepath.Join(dir, "test.db")); err != nil {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	s := openAt(t, path, Options{Migrate: true})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := s.Begin(t.Context()); err == nil {
		t.Error("Begin on a closed store worked")
	}
	if err := s.Ping(t.Context()); err == nil {
		t.Error("Ping of a closed store worked")
	}
	gates.mu.Lock()
	defer gates.mu.Unlock()
	for _, g := range gates.open {
		if g == s.gate {
			t.Error("the gate is still there")
		}
	}
}
