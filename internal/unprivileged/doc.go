//go:build linux

// Package unprivileged runs parts of tests without rights on files, also where the tests run as root.
package unprivileged

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// other is the user "nobody", who owns no file.
const other = 65534

// Dir returns a directory that every user can enter and write to, until the test ends.
func Dir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// Run calls f on a thread with the rights on files of a user who owns none, and waits for it: root could write
// everything. Where the test is not root's, f has the rights of the test's user.
func Run(tb testing.TB, f func()) {
	tb.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := syscall.Setfsuid(other); err != nil {
			tb.Error(err)
			return
		}
		f()
	}()
	<-done
}
