package storytest

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/tests/endtoend/story"
)

// Run tests the program in the working directory, which is over b. topics lists those of
// the broker at an address.
func Run(t *testing.T, b story.Broker, topics func(t *testing.T, address string) []string) {
	e := program{addr: brokertest.Variable(t, b.Variable, b.Name), built: filepath.Join(t.TempDir(), b.Name)}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", e.built, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	t.Run("one worker and three", e.workers)
	t.Run("leaves no topics", func(t *testing.T) { e.leavesNoTopics(t, b, topics) })
	t.Run("varied file", e.varied)
	t.Run("killed", e.killed)
	t.Run("broker killed", func(t *testing.T) { e.brokerKilled(t, b.Name) })
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
	return settled(t, &out)
}

// settled reads the figures of a run, and looks that every message has its one outcome.
func settled(t *testing.T, out *bytes.Buffer) (f figures) {
	t.Helper()
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if f.Lost != 0 || f.AppliedTwice != 0 || f.Waiting != 0 || f.Check.Broken != 0 || f.Published != f.Applied || f.Applied+f.Dead != f.Messages {
		t.Errorf("figures %s", out)
	}
	return f
}

// The same webhooks come to the same end as without a broker.
func (e program) workers(t *testing.T) {
	runs := [][]string{{"-n", "500", "-workers", "3", "-dsn", pgtest.NewDatabase(t)}}
	if !testing.Short() {
		runs = append(runs, []string{"-n", "500"}, []string{"-n", "500", "-workers", "3"})
	}
	for _, args := range runs {
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
	if f := e.tell(t, "-in", "../../tests/endtoend/testdata/varied.jsonl"); f.Delivered != 116 || f.Applied != 42 {
		t.Errorf("%+v", f)
	}
}

// Killed in the middle and started again: nothing is lost, nothing applied twice.
func (e program) killed(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 1000
	}
	file, count := filepath.Join(t.TempDir(), "orders.db"), strconv.Itoa(n)
	cmd, _, _ := e.underWay(t, "-db", file, "-n", count)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if f := e.tell(t, "-db", file, "-n", count); f.Delivered < n {
		t.Errorf("%+v", f)
	}
}

// The broker is killed in the middle and started again, under four workers: they go on by themselves, and end well.
// A run before has used the topics: RabbitMQ may leave a quorum queue that is seconds old without a leader (docs/brokers.md).
func (e program) brokerKilled(t *testing.T, server string) {
	brokertest.Alone(t)
	n := 4000
	if testing.Short() {
		n = 1200
	}
	file := filepath.Join(t.TempDir(), "orders.db")
	e.tell(t, "-db", file, "-n", "100")
	cmd, out, problem := e.underWay(t, "-db", file, "-n", strconv.Itoa(n), "-workers", "4")
	if err := brokertest.Restart(t.Context(), server); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s%s", err, out, problem)
	}
	if f := settled(t, out); f.Delivered < n {
		t.Errorf("%+v", f)
	}
}

// underWay starts the program and returns when it has sent the first webhooks.
func (e program) underWay(t *testing.T, args ...string) (cmd *exec.Cmd, out, problem *bytes.Buffer) {
	t.Helper()
	cmd = e.command(t, args...)
	out = new(bytes.Buffer)
	sent := &untilSent{first: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, sent
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sent.first:
	case <-time.After(time.Minute):
		t.Fatal("nothing was sent in a minute")
	}
	return cmd, out, &sent.said
}

// untilSent is the standard error of a program. first is closed when it says that webhooks
// were acknowledged.
type untilSent struct {
	said  bytes.Buffer
	first chan struct{}
	once  sync.Once
}

var acknowledged = regexp.MustCompile(`[1-9][0-9]* acknowledged`)

func (u *untilSent) Write(p []byte) (int, error) {
	n, err := u.said.Write(p)
	if acknowledged.Match(u.said.Bytes()) {
		u.once.Do(func() { close(u.first) })
	}
	return n, err
}
