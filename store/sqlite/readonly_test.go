//go:build linux

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/internal/unprivileged"
	"github.com/headrace/headrace/store/txn"
)

// TestReadOnly: a file or a directory that this process may not write is refused
// when it is opened, not at the first message.
func TestReadOnly(t *testing.T) {
	for _, c := range []struct {
		name      string
		file, dir os.FileMode
	}{
		{"file", 0o444, 0o777},
		{"directory", 0o666, 0o555},
		{"both", 0o444, 0o555},
		{"unreadable", 0, 0o777},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := unprivileged.Dir(t)
			path := filepath.Join(dir, "test.db")
			s := openAt(t, path, Options{Migrate: true})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Chmod(path, c.file), os.Chmod(dir, c.dir)); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o777) })
			unprivileged.Run(t, func() {
				for _, o := range []Options{{}, {Migrate: true}, {Unchecked: true}} {
					wantRefused(t, path, o)
				}
			})
		})
	}
}

// TestOptionReadOnly: a process that may not write the file, its directory or both reads it, whether another
// one has it open or not, and cannot write.
func TestOptionReadOnly(t *testing.T) {
	for _, c := range []struct {
		name      string
		file, dir os.FileMode
		live      bool
	}{
		{"file", 0o444, 0o777, false}, {"both", 0o444, 0o555, false}, {"nothing", 0o666, 0o777, false},
		{"file, live", 0o444, 0o777, true}, {"both, live", 0o444, 0o555, true}, {"nothing, live", 0o666, 0o777, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := unprivileged.Dir(t)
			path := filepath.Join(dir, "test.db")
			writer := openAt(t, path, Options{Migrate: true})
			mustExec(t, writer, "CREATE TABLE seen (n INTEGER)")
			if !c.live {
				if err := writer.Close(); err != nil {
					t.Fatal(err)
				}
			}
			files, err := filepath.Glob(path + "*")
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			for _, f := range files {
				err = errors.Join(err, os.Chmod(f, c.file))
			}
			if err := errors.Join(err, os.Chmod(dir, c.dir)); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o777) })
			unprivileged.Run(t, func() { readsOnly(t, path, writer, c.live) })
		})
	}
}

func readsOnly(t *testing.T, path string, writer *Store, live bool) {
	s, err := Open(t.Context(), path, Options{ReadOnly: true})
	if err != nil {
		t.Error(err)
		return
	}
	if report, err := s.Check(t.Context()); err != nil || !report.OK() {
		t.Errorf("%+v, %v", report, err)
	}
	if live {
		mustExec(t, writer, "INSERT INTO seen VALUES (1)")
		var n int
		if err := s.read.QueryRowContext(t.Context(), "SELECT count(*) FROM seen").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows, %v", n, err)
		}
	}
	if _, err := s.Begin(t.Context()); !errors.Is(err, fs.ErrPermission) && !txn.NotPermitted(err) {
		t.Errorf("Begin: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestReadWhileItChanges: what was read of a file that nothing had open is in doubt if another process opened it.
func TestReadWhileItChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	if err := openAt(t, path, Options{Migrate: true}).Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	openAt(t, path, Options{})
	if err := s.Close(); err == nil {
		t.Error("it says nothing")
	}
	if _, err := Open(t.Context(), path, Options{ReadOnly: true, Migrate: true}); err == nil {
		t.Error("it migrates")
	}
}
