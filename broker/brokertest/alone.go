package brokertest

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Packages run their tests at the same time on the same servers, and a restart may make a
// server lose the messages of other packages. So each process whose tests use a server
// shares a lock on the server's file in scripts/services.d until it ends. It takes the
// lock exclusively while it restarts servers or changes settings of the whole server.
var shared struct {
	sync.Mutex
	files map[string]*os.File // by server
}

// share shares server with the tests of other packages.
func share(t testing.TB, server string) {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.files[server] != nil {
		return
	}
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "scripts", "services.d", server+".sh"))
	if err == nil {
		err = lock(f, syscall.LOCK_SH)
	}
	if err != nil {
		t.Fatalf("share the server %s: %v", server, err)
	}
	if shared.files == nil {
		shared.files = map[string]*os.File{}
	}
	shared.files[server] = f
}

// Alone waits until no other process uses the servers of this one, and keeps others from
// them until t ends. Call Variable for the servers first. The test must not run in
// parallel with others of its process.
func Alone(t testing.TB) {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	for server, f := range shared.files {
		if err := lock(f, syscall.LOCK_EX); err != nil {
			t.Fatalf("have the server %s alone: %v", server, err)
		}
		t.Cleanup(func() {
			if err := lock(f, syscall.LOCK_SH); err != nil {
				t.Errorf("share the server %s again: %v", server, err)
			}
		})
	}
}

func lock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
