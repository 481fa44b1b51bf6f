package story

import (
	"bufio"
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/headrace/headrace/internal/pgtest"
)

func tamper(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", uri(file)+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	done, err := db.ExecContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%d rows, %v", n, err)
	}
}

// running is a child of which we read the progress.
type running struct {
	*exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	cmd := child(t, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &running{cmd, bufio.NewScanner(stderr)}
}

// until reads the progress until so many deliveries of this run are acknowledged.
func (r *running) until(t *testing.T, acknowledged int) {
	t.Helper()
	for r.lines.Scan() {
		line := strings.TrimSuffix(r.lines.Text(), " acknowledged")
		_, last, ok := strings.Cut(line, "handed out, ")
		if n, err := strconv.Atoi(last); ok && err == nil && n >= acknowledged {
			return
		}
	}
	t.Fatalf("the process ended before %d were acknowledged: %v", acknowledged, r.lines.Err())
}

// end sends a signal and returns the exit code, -1 where the signal ended the process.
func (r *running) end(t *testing.T, s syscall.Signal) int {
	t.Helper()
	if err := r.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	return r.wait(t)
}

func (r *running) wait(t *testing.T) int {
	t.Helper()
	for r.lines.Scan() { // the pipe must be empty before Wait
		t.Log(r.lines.Text())
	}
	_ = r.Wait()
	return r.ProcessState.ExitCode()
}

// many returns how many messages a test has that could do with n: a third in the short form.
func many(n int) int {
	if testing.Short() {
		return n / 3
	}
	return n
}

// kills kills a process with these flags in the middle, several times, each further on.
func kills(t *testing.T, n int, args ...string) {
	t.Helper()
	for i := range 4 {
		r := start(t, args...)
		r.until(t, (i+1)*n/8)
		if code := r.end(t, syscall.SIGKILL); code != -1 {
			t.Fatalf("kill %d came too late: exit %d", i+1, code)
		}
	}
}

// "killed with kill -9 in the middle, several times, and started again on the same file".
func TestKillAndStartAgain(t *testing.T) {
	n := many(1600)
	file := filepath.Join(t.TempDir(), "orders.db")
	args := []string{"-json", "-db", file, "-n", fmt.Sprint(n)}
	kills(t, n, args...)
	rep := runChild(t, nil, args...).holds(t)
	clean := runChild(t, nil, "-json", "-n", fmt.Sprint(n)).holds(t)
	if rep.Messages != clean.Messages || rep.Applied != clean.Applied || rep.figures.Dead != clean.figures.Dead {
		t.Errorf("after the kills %+v, without %+v", rep, clean)
	}
}

// What a killed run had in flight is not forgotten when the next one has other things to do.
func TestKillAndGoOnWithOtherWebhooks(t *testing.T) {
	n := many(1600)
	file := filepath.Join(t.TempDir(), "orders.db")
	kills(t, n, "-db", file, "-n", fmt.Sprint(n))
	runChild(t, nil, "-json", "-db", file, "-n", "50", "-seed", "2").holds(t)
}

// Ctrl-C stops with the figures of where it stands: nothing is lost, and the same command goes on from there.
func TestInterrupt(t *testing.T) {
	n := many(4000)
	args := []string{"-json", "-db", filepath.Join(t.TempDir(), "orders.db"), "-n", fmt.Sprint(n)}
	cmd := child(t, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := &strings.Builder{}
	cmd.Stdout = stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &running{cmd, bufio.NewScanner(stderr)}
	r.until(t, n/8)
	if code := r.end(t, syscall.SIGINT); code != exitBroken {
		t.Fatalf("exit %d, want %d", code, exitBroken)
	}
	rep := result{stdout: stdout.String()}.final(t)
	if rep.Lost != 0 || rep.AppliedTwice != 0 || rep.Check.Broken != 0 || rep.Delivered >= int64(n) {
		t.Errorf("figures %+v", rep)
	}
	runChild(t, nil, args...).holds(t)
}

// "two processes of it at once on one Postgres": with the same webhooks, so that every message is in both.
func TestTwoProcessesOnPostgres(t *testing.T) {
	dsn := pgtest.NewDatabase(t)
	n := many(1200)
	args := []string{"-json", "-dsn", dsn, "-n", fmt.Sprint(n)}
	other := start(t, args...)
	mine := runChild(t, nil, args...)
	if code := other.wait(t); code != exitDone {
		t.Errorf("the other one: exit %d", code)
	}
	rep := mine.final(t)
	if mine.code != exitDone || rep.Lost != 0 || rep.AppliedTwice != 0 {
		t.Fatalf("%+v", mine)
	}
	last := runChild(t, nil, "-json", "-dsn", dsn, "-n", "0").holds(t)
	if last.Delivered < int64(2*n) || last.Duplicates < int64(n) {
		t.Errorf("figures %+v", last)
	}
}

// One of two is killed: the other one takes over what it had in flight, and ends with everything settled.
func TestKillOneOfTwoOnPostgres(t *testing.T) {
	dsn := pgtest.NewDatabase(t)
	victim := start(t, "-dsn", dsn, "-n", fmt.Sprint(many(4000)), "-seed", "1")
	victim.until(t, many(400))
	survivor := start(t, "-json", "-dsn", dsn, "-n", fmt.Sprint(many(1500)), "-seed", "2")
	survivor.until(t, many(300))
	if code := victim.end(t, syscall.SIGKILL); code != -1 {
		t.Fatalf("killed too late: exit %d", code)
	}
	if code := survivor.wait(t); code != exitDone {
		t.Fatalf("exit %d", code)
	}
	runChild(t, nil, "-json", "-dsn", dsn, "-n", "0").holds(t)
}
