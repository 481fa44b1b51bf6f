package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

// A test that needs a second process runs its own program again, with a role.
const (
	roleVariable = "HEADRACE_SQLITE_TEST_ROLE"
	pathVariable = "HEADRACE_SQLITE_TEST_PATH"
)

// child plays a role. It reports on its standard output, a line for each event, and
// lives until its standard input ends.
func child(role, path string) {
	ctx := context.Background()
	if role == "migrate" { // together with others
		fmt.Println("ready")
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
	st, err := sqlite.Open(ctx, path, sqlite.Options{Migrate: role == "migrate"})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	switch role {
	case "migrate":
		fmt.Println("opened")
	case "hold": // a transaction, until the end, and then commits it
		t := must(st.Begin(ctx))
		must(st.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: claimsOf("held")}))
		fmt.Println("holds")
		<-over
		must(0, st.Commit(ctx, t, nil))
	case "effects": // handles the same messages as others
		for n := range sharedKeys {
			key := fmt.Sprint("key ", n)
			t := must(st.Begin(ctx))
			if must(st.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: claimsOf(key)}))[0].Result == inbox.Won {
				must(t.ExecContext(ctx, "INSERT INTO effects (key) VALUES ($1)", key))
			}
			must(0, st.Commit(ctx, t, nil))
			if n == 0 {
				fmt.Println("writes")
			}
		}
	case "loop": // writes without a pause
		for n := 0; ; n++ {
			t := must(st.Begin(ctx))
			must(st.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: claimsOf(fmt.Sprint("loop ", n))}))
			time.Sleep(50 * time.Millisecond) // a handler; the lock is free for a moment only
			must(0, st.Commit(ctx, t, nil))
			if n == 0 {
				fmt.Println("writes")
			}
			select {
			case <-over:
				must(0, st.Close())
				return
			default:
			}
		}
	}
	<-over
	must(0, st.Close())
}

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	return v
}

func claimsOf(key string) []inbox.Claim { return []inbox.Claim{{ID: inbox.ID{Scope: "c/h", Key: key}}} }

// process is a child.
type process struct {
	*exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
}

func start(t *testing.T, role, path string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, pathVariable+"="+path)
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd, stdin, bufio.NewReader(stdout)}
	t.Cleanup(func() { p.kill() })
	return p
}

// says waits for a line and fails the test if it is another.
func (p *process) says(t *testing.T, want string) {
	t.Helper()
	line, err := p.lines.ReadString('\n')
	if line = strings.TrimSpace(line); err != nil || line != want {
		t.Fatalf("the other process says %q (%v), want %q", line, err, want)
	}
}

// end lets the child end, and fails the test if that is with an error.
func (p *process) end(t *testing.T) {
	t.Helper()
	_ = p.stdin.Close()
	rest, _ := io.ReadAll(p.lines)
	if err := p.Wait(); err != nil || len(rest) > 0 {
		t.Errorf("the other process ended with %v: %s", err, rest)
	}
}

func (p *process) kill() {
	_ = p.Process.Kill()
	_ = p.Wait()
}

func beginWithin(st *sqlite.Store, d time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	asked := time.Now()
	t, err := st.Begin(ctx)
	if err == nil {
		t.Rollback()
	}
	return time.Since(asked), err
}

func fresh(t *testing.T, o sqlite.Options) (*sqlite.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	o.Migrate = true
	return open(t, path, o), path
}

// TestBusy: a lock that another process holds is waited for as long as the caller
// says, and is an error of its own class after that (fault 33).
func TestBusy(t *testing.T) {
	st, path := fresh(t, sqlite.Options{BusyTimeout: time.Second})
	p := start(t, "hold", path)
	p.says(t, "holds")
	if took, err := beginWithin(st, 30*time.Millisecond); txn.Classify(err) != txn.LockTimeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Begin after its deadline: %v, class %s, after %s", err, txn.Classify(err), took)
	}
	if _, err := st.Begin(context.Background()); txn.Classify(err) != txn.LockTimeout {
		t.Errorf("Begin without a deadline: %v, want a lock timeout after BusyTimeout", err)
	}
	if err := st.Ping(t.Context()); err != nil {
		t.Errorf("a read has to wait: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := beginWithin(st, time.Minute) // far above BusyTimeout
		got <- err
	}()
	p.end(t)
	if err := <-got; err != nil {
		t.Errorf("Begin when the lock is free: %v", err)
	}
	if rows, err := st.Inbox().Find(t.Context(), "held"); err != nil || len(rows) != 1 {
		t.Errorf("what the other process committed: %v, %v", rows, err)
	}
}

// TestNoStarvation: DESIGN §3 Backlog and drain: beside a process that commits in a loop,
// another one got one lock in 5 s without the gap.
//
//evidence:sqlite-turns
func TestNoStarvation(t *testing.T) {
	const rounds, bound = 8, 2 * time.Second // 25 to 50 ms each; without the gap ten times that
	st, path := fresh(t, sqlite.Options{})
	p := start(t, "loop", path)
	p.says(t, "writes")
	var total time.Duration
	for range rounds {
		took, err := beginWithin(st, time.Minute)
		if err != nil {
			t.Fatalf("no lock within %s: %v", took, err)
		}
		total += took
		awaitWrite(t, st)
	}
	t.Logf("%s for a lock, on average", total/rounds)
	if total > bound {
		t.Errorf("%d locks took %s", rounds, total)
	}
	p.end(t)
}

// awaitWrite returns when the other process has committed once more.
func awaitWrite(t *testing.T, st *sqlite.Store) {
	t.Helper()
	rows := func() int64 {
		counts, err := st.Inbox().Counts(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		return counts[inbox.Done]
	}
	for before := rows(); rows() == before; time.Sleep(time.Millisecond) {
	}
}

// TestMigrateProcesses: several processes that open a new file at once all find it
// whole (invariant 24).
//
//evidence:migrate
func TestMigrateProcesses(t *testing.T) {
	var path string
	for range 4 {
		path = filepath.Join(t.TempDir(), "test.db")
		var all []*process
		for range 5 {
			all = append(all, start(t, "migrate", path))
		}
		for _, p := range all {
			p.says(t, "ready")
		}
		for _, p := range all {
			_, _ = p.stdin.Write([]byte{'\n'})
		}
		for _, p := range all {
			p.says(t, "opened")
		}
		for _, p := range all {
			p.end(t)
		}
	}
	st := open(t, path, sqlite.Options{})
	list, err := st.Migrations(t.Context())
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, m := range list {
		if !m.Applied {
			t.Errorf("%d_%s is not applied", m.Version, m.Name)
		}
	}
}

// sharedKeys is how many messages the processes of TestEffectsOnce share.
const sharedKeys = 300

// TestEffectsOnce: processes that are given the same messages, one of which dies on
// the way, leave one effect for each, and its record (invariants 2 and 3).
//
//evidence:once
func TestEffectsOnce(t *testing.T) {
	st, path := fresh(t, sqlite.Options{})
	// Without a unique index, which would hide what it is to show.
	if _, err := st.DB().ExecContext(t.Context(), "CREATE TABLE effects (key TEXT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	var all []*process
	for range 3 {
		all = append(all, start(t, "effects", path))
	}
	for _, p := range all {
		p.says(t, "writes")
	}
	all[0].kill()
	for _, p := range all[1:] {
		p.end(t)
	}
	for what, query := range map[string]string{
		"keys with an effect":          "SELECT count(DISTINCT key) FROM effects",
		"effects":                      "SELECT count(*) FROM effects",
		"effects with their inbox row": "SELECT count(*) FROM effects JOIN headrace_inbox USING (key)",
		"inbox rows":                   "SELECT count(*) FROM headrace_inbox WHERE state = 'done'",
	} {
		var n int
		if err := st.DB().QueryRowContext(t.Context(), query).Scan(&n); err != nil || n != sharedKeys {
			t.Errorf("%d %s (%v), want %d", n, what, err, sharedKeys)
		}
	}
}

// TestKilled: a process that dies in its transaction leaves nothing, neither rows
// nor the lock (fault 1).
//
//evidence:one-commit
func TestKilled(t *testing.T) {
	st, path := fresh(t, sqlite.Options{})
	for range 3 {
		p := start(t, "hold", path)
		p.says(t, "holds")
		p.kill()
		if _, err := beginWithin(st, time.Minute); err != nil {
			t.Fatalf("Begin after a kill: %v", err)
		}
		if rows, err := st.Inbox().Find(t.Context(), "held"); err != nil || len(rows) != 0 {
			t.Errorf("what the killed process wrote: %v, %v", rows, err)
		}
	}
	for range 3 {
		p := start(t, "loop", path)
		p.says(t, "writes")
		p.kill()
	}
	report, err := st.Check(t.Context())
	if err != nil || !report.OK() {
		t.Errorf("check after kills: %+v, %v", report, err)
	}
	var _ store.Checker = st
	var integrity string
	if err := st.DB().QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&integrity); err != nil || integrity != "ok" {
		t.Errorf("integrity: %s, %v", integrity, err)
	}
}
