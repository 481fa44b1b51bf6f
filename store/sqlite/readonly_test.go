//go:build linux

package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
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
			dir := reachable(t)
			path := filepath.Join(dir, "test.db")
			s := openAt(t, path, Options{Migrate: true})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Chmod(path, c.file), os.Chmod(dir, c.dir)); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o777) })
			asNobody(t, func() {
				for _, o := range []Options{{}, {Migrate: true}, {Unchecked: true}} {
					wantRefused(t, path, o)
				}
			})
		})
	}
}

// reachable returns a temporary directory that every user can enter.
func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// asNobody runs f on a thread that has no rights on files but those of nobody;
// root could write everything.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := syscall.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}
