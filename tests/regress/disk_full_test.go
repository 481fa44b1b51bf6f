package regress

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lib/pq"

	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
)

// The rule of survivesOutage, for a full disk. It is a real one if this process may mount a
// small file system and the PostgreSQL server can use it. Elsewhere triggers raise the
// same error.
//
//evidence:cannot-serve
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	for _, driver := range drivers(t) {
		for _, w := range everyWay {
			t.Run(w.name+"/"+driver, func(t *testing.T) {
				t.Parallel()
				dir, err := mountTablespace(t)
				if err != nil {
					t.Logf("triggers refuse to write instead of a full disk: %v", err)
					dsn, schema := pgstore.New(t)
					f := newPostgres(t, driver, dsn, schema)
					survivesOutage(f, w, refuseWrites(f, "53100"))
					return
				}
				f := newPostgres(t, driver, databaseOn(t, dir), "public")
				ballast := filepath.Join(dir, "ballast")
				survivesOutage(f, w, outage{
					says:  "No space left on device",
					begin: func() { fill(t, ballast) },
					end:   func() { _ = os.Remove(ballast) },
					bytes: 64 << 10,
				})
			})
		}
	}
}

// smallDisk is large enough for a database and what a test writes.
const smallDisk = "48m"

// mountTablespace mounts a small file system that the PostgreSQL server can write, until
// the test ends.
func mountTablespace(t *testing.T) (dir string, err error) {
	t.Helper()
	if os.Geteuid() != 0 {
		return "", errors.New("only root may mount one")
	}
	var data string
	admin := pgtest.Open(t)
	if err := admin.QueryRow("SHOW data_directory").Scan(&data); err != nil {
		return "", err
	}
	info, err := os.Stat(data)
	if err != nil {
		return "", fmt.Errorf("PostgreSQL runs elsewhere: %w", err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	dir, err = os.MkdirTemp("/tmp", "headrace-regress-disk-")
	if err != nil {
		return "", err
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	options := fmt.Sprintf("size=%s,mode=0700,uid=%d,gid=%d", smallDisk, owner.Uid, owner.Gid)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "headrace-regress", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("mount: %w: %s", err, out)
	}
	t.Cleanup(func() {
		// Lazy: the server may still have files of the dropped database open.
		if out, err := exec.Command("umount", "--lazy", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir, nil
}

// databaseOn makes a database whose files are in dir, until the test ends.
func databaseOn(t *testing.T, dir string) (dsn string) {
	t.Helper()
	admin := pgtest.Open(t)
	space := strings.Replace(admin.Schema, "test", "disk", 1)
	if _, err := admin.Exec(fmt.Sprintf("CREATE TABLESPACE %s LOCATION %s", space, pq.QuoteLiteral(dir))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec("DROP TABLESPACE " + space); err != nil {
			t.Error(err)
		}
	})
	dsn = pgtest.NewDatabase(t)
	if _, err := admin.Exec(fmt.Sprintf("ALTER DATABASE %s SET TABLESPACE %s", databaseOf(t, dsn), space)); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// databaseOf returns the name of the database of a DSN.
func databaseOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

// fill writes a file until its disk is full.
func fill(t *testing.T, path string) {
	file, err := os.Create(path)
	if err == nil {
		_, err = io.Copy(file, endless{})
		_ = file.Close()
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("fill the disk: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// The rule of survivesOutage, for a SQLite file that cannot grow. The test is not parallel: no
// file of this process can grow meanwhile.
//
//evidence:cannot-serve
func TestFileCannotGrow(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	for _, w := range everyWay {
		t.Run(w.name, func(t *testing.T) {
			var before syscall.Rlimit
			if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
				t.Fatal(err)
			}
			limit := func(l syscall.Rlimit) {
				if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
					t.Error(err)
				}
			}
			survivesOutage(newSQLite(t), w, outage{
				says:  "disk",
				begin: func() { limit(syscall.Rlimit{Cur: 0, Max: before.Max}) },
				end:   func() { limit(before) },
				bytes: 8 << 20, // more than SQLite keeps in memory until the COMMIT
			})
		})
	}
}
