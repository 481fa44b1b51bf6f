package storytest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/tests/endtoend/story"
)

// Run tests the program in the working directory, which is over b. topics lists those of
// the broker at an address.
func Run(t *testing.T, b story.Broker, topics func(t *testing.T, address string) []string) {
	e := program{addr: brokertest.Variable(t, b.Variable, b.Name), built: filepath.Join(t.TempDir(), b.Name)}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", e.built, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	t.Run("one worker and three", e.workers)
	t.Run("leaves no topics", func(t *testing.T) { e.leavesNoTopics(t, b, topics) })
	t.Run("varied file", e.varied)
	t.Run("killed", e.killed)
}

// program is one over the broker at addr.
type program struct{ addr, built string }

// figures are those that the tests look at.
type figures struct {
	Delivered, Messages, Applied, Dead, Waiting, Lost, Published int
	AppliedTwice                                                 int `json:"applied_twice"`
	Check                                                        struct{ Broken int }
}

func (e program) command(t *testing.T, args ...string) *exec.Cmd {
	return exec.CommandContext(t.Context(), e.built, append([]string{"-json", "-broker", e.addr}, args...)...)
}

// tell runs the program, and looks that it ends well.
func (e program) tell(t *testing.T, args ...string) (f figures) {
	t.Helper()
	cmd := e.command(t, args...)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &problem)
	}
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatalf("%v in %s", err, &out)
	}
	if f.Lost != 0 || f.AppliedTwice != 0 || f.Waiting != 0 || f.Check.Broken != 0 || f.Published != f.Applied || f.Applied+f.Dead != f.Messages {
		t.Errorf("figures %s", &out)
	}
	return f
}

// The same webhooks come to the same end as without a broker.
func (e program) workers(t *testing.T) {
	for _, args := range [][]string{
		{"-n", "500"},
		{"-n", "500", "-workers", "3"},
		{"-n", "500", "-workers", "3", "-dsn", pgtest.NewDatabase(t)},
	} {
		if f := e.tell(t, args...); f.Delivered != 500 || f.Messages != 359 {
			t.Errorf("%q: %+v", args, f)
		}
	}
}

// A run without a database of its own is over when it ends, so its topics go with it; those of a database that
// stays are kept.
func (e program) leavesNoTopics(t *testing.T, b story.Broker, topics func(*testing.T, string) []string) {
	stories := func() (n int) {
		for _, topic := range topics(t, e.addr) {
			if strings.HasPrefix(topic, "orders-paid-") || strings.HasPrefix(topic, "confirmations-") {
				n++
			}
		}
		return n
	}
	before := stories()
	e.tell(t, "-n", "20", "-db", filepath.Join(t.TempDir(), "orders.db"))
	kept := stories()
	e.tell(t, "-n", "20")
	if after := stories(); kept != before+3 || after != kept {
		t.Errorf("%d topics, then %d, then %d", before, kept, after)
	}
	if err := b.Connect(e.addr, slog.New(slog.DiscardHandler)).Remove(t.Context(), "no-such-topic"); err != nil {
		t.Errorf("a topic that is missing: %v", err)
	}
}

// Webhooks of all kinds from a file. The one without an id has one here: its position, or
// what the broker gives it.
func (e program) varied(t *testing.T) {
	if f := e.tell(t, "-in", "../testdata/varied.jsonl"); f.Delivered != 116 || f.Applied != 42 {
		t.Errorf("%+v", f)
	}
}

// Killed in the middle and started again: nothing is lost, nothing applied twice.
func (e program) killed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.db")
	cmd := e.command(t, "-db", file, "-n", "3000")
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
	if f := e.tell(t, "-db", file, "-n", "3000"); f.Delivered < 3000 {
		t.Errorf("%+v", f)
	}
}
