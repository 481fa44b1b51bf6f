package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/internal/pgtest"
)

// built is the path of the example: its workers are processes of it.
var built string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sqs-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = filepath.Join(dir, "sqs")
	if out, err := exec.Command("go", "build", "-o", built, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the example: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// figures are those that the tests look at.
type figures struct {
	Delivered, Messages, Applied, Dead, Waiting, Lost, Published int
	AppliedTwice                                                 int `json:"applied_twice"`
	Check                                                        struct{ Broken int }
}

// tell runs the example, and looks that it ends well.
func tell(t *testing.T, args ...string) figures {
	t.Helper()
	addr := brokertest.Variable(t, "HEADRACE_TEST_SQS", "sqs")
	cmd := exec.CommandContext(t.Context(), built, append([]string{"-json", "-broker", addr}, args...)...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &problem)
	}
	return read(t, out.Bytes())
}

func read(t *testing.T, out []byte) (f figures) {
	t.Helper()
	if err := json.Unmarshal(out, &f); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if f.Lost != 0 || f.AppliedTwice != 0 || f.Waiting != 0 || f.Check.Broken != 0 || f.Published != f.Applied || f.Applied+f.Dead != f.Messages {
		t.Errorf("figures %s", out)
	}
	return f
}

// The same webhooks come to the same end as in examples/orders, with one worker and with
// three.
func TestStory(t *testing.T) {
	for _, args := range [][]string{
		{"-n", "500"},
		{"-n", "500", "-workers", "3"},
		{"-n", "500", "-workers", "3", "-dsn", pgtest.NewDatabase(t)},
	} {
		if f := tell(t, args...); f.Delivered != 500 || f.Messages != 359 {
			t.Errorf("%q: %+v", args, f)
		}
	}
}

// Webhooks of all kinds from a file. The one without an id has one here: SQS gives it.
func TestVariedFile(t *testing.T) {
	if f := tell(t, "-in", "../orders/testdata/varied.jsonl"); f.Delivered != 116 || f.Applied != 42 {
		t.Errorf("%+v", f)
	}
}

// Killed in the middle and started again: nothing is lost, nothing applied twice.
func TestKill(t *testing.T) {
	addr := brokertest.Variable(t, "HEADRACE_TEST_SQS", "sqs")
	file := filepath.Join(t.TempDir(), "orders.db")
	cmd := exec.CommandContext(t.Context(), built, "-json", "-broker", addr, "-db", file, "-n", "3000")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if strings.Contains(lines.Text(), "acknowledged") && !strings.Contains(lines.Text(), " 0 acknowledged") {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if f := tell(t, "-db", file, "-n", "3000"); f.Delivered < 3000 {
		t.Errorf("%+v", f)
	}
}
