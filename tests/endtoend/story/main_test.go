package story

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/examples/orders/billing"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

// built is the path of the program, built once for all tests, and without the race detector: with it SQLite, which
// is Go code here, is so slow that a test of kills would take very long. TestInProcess is for the race detector.
var built string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "orders-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	built = filepath.Join(dir, "orders")
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", built, "../../../examples/orders").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// bill is that of examples/orders.
func bill(ctx context.Context, w World) error {
	c, err := billing.New(w.Store, consumer.Config{
		Source: w.Source, Sink: w.Sink, Logger: w.Logger, MaxInFlight: w.MaxInFlight,
	}, w.Orders, w.Faulty(billing.WriteInvoice(w.Confirmations)))
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

// child is the program with these flags, in a process of its own.
func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), built, args...)
}

// result is what a process printed and how it ended.
type result struct {
	stdout, stderr string
	code           int
}

func runChild(t *testing.T, stdin []byte, args ...string) result {
	t.Helper()
	cmd := child(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// final is the JSON object that a run ends with.
func (r result) final(t *testing.T) report {
	t.Helper()
	var rep report
	d := json.NewDecoder(strings.NewReader(r.stdout))
	if err := d.Decode(&rep); err != nil {
		t.Fatalf("no JSON on stdout: %v\nstdout %q\nstderr %s", err, r.stdout, r.stderr)
	}
	if d.More() {
		t.Fatalf("more than one object on stdout: %s", r.stdout)
	}
	return rep
}

// holds fails the test unless a run ended well, with everything settled.
func (r result) holds(t *testing.T) report {
	t.Helper()
	rep := r.final(t)
	if r.code != exitDone {
		t.Fatalf("exit %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	if rep.Lost != 0 || rep.AppliedTwice != 0 || rep.Waiting != 0 || rep.Check.Broken != 0 || rep.Check.Rules == 0 {
		t.Fatalf("figures %s", r.stdout)
	}
	if rep.Messages != rep.Applied+rep.figures.Dead || rep.Published != rep.Applied || rep.Duplicates != rep.Delivered-rep.Messages {
		t.Fatalf("figures do not add up: %s", r.stdout)
	}
	return rep
}

// Everything in this process, for the race detector and for goroutines that are left behind.
func TestInProcess(t *testing.T) {
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	var stdout bytes.Buffer
	code := Main(bill, []string{"-json", "-n", "200"}, strings.NewReader(""), &stdout, stderr)
	r := result{stdout: stdout.String(), code: code}
	if rep := r.holds(t); rep.Delivered != 200 {
		t.Errorf("figures %+v", rep)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-no-such-flag"}, {"-n", "x"}, {"-n", "-1"}, {"extra"}, {"-db", "a", "-dsn", "b"}, {"-in", "f", "-n", "3"}, {"-in", ""},
	} {
		if r := runChild(t, nil, args...); r.code != exitUsage || r.stdout != "" || r.stderr == "" {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if r := runChild(t, nil, "-in", filepath.Join(t.TempDir(), "none")); r.code != exitFailed || !strings.Contains(r.stderr, "none") {
		t.Errorf("a file that is not there: %+v", r)
	}
}

// The first command of the README: no flags, no server, and what it prints is what the README beside it says.
func TestREADMESaysWhatIsPrinted(t *testing.T) {
	readme, err := os.ReadFile("../../../examples/orders/README.md")
	if err != nil {
		t.Fatal(err)
	}
	r := runChild(t, nil)
	if r.code != exitDone || r.stdout == "" {
		t.Fatalf("%+v", r)
	}
	if !strings.Contains(string(readme), r.stdout) {
		t.Errorf("README.md does not hold what was printed:\n%s", r.stdout)
	}
}

// A second run on the same file applies nothing twice, and its figures are over everything in the file.
func TestSecondRunGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders ?#%.db")
	first := runChild(t, nil, "-json", "-db", file, "-n", "300").holds(t)
	again := runChild(t, nil, "-json", "-db", file, "-n", "300").holds(t)
	if again.Delivered != first.Delivered+300 || again.Messages != first.Messages || again.Applied != first.Applied ||
		again.Dead.Letters != first.Dead.Letters {
		t.Errorf("the same seed again: %+v, was %+v", again, first)
	}
	more := runChild(t, nil, "-json", "-db", file, "-n", "300", "-seed", "2").holds(t)
	if more.Delivered != again.Delivered+300 || more.Applied <= again.Applied {
		t.Errorf("another seed: %+v, was %+v", more, again)
	}
	if 5*first.Duplicates < first.Delivered || first.Retried == 0 || first.figures.Dead == 0 {
		t.Errorf("the story is not told: %+v", first)
	}
}

// INVARIANTS 1 and 2: the figures come from the tables, so what is taken away or added behind the program's back
// shows, and it exits with 1 and says what is wrong.
func TestFiguresSeeWhatIsWrong(t *testing.T) {
	for _, tc := range []struct{ name, file, statement, says string }{
		{"lost effect", "", "DELETE FROM invoices WHERE key = (SELECT min(key) FROM invoices)", "1 messages are lost"},
		{"wrong effect", "", "UPDATE invoices SET total_minor = total_minor + 1 WHERE key = (SELECT min(key) FROM invoices)", "1 messages are lost"},
		{"lost letter", "", "DELETE FROM headrace_dead_letters WHERE class = 'permanent'", "1 messages are lost"},
		{"letter of another consumer", "", "UPDATE headrace_dead_letters SET consumer = 'another' WHERE class = 'permanent'", "1 messages are lost"},
		{"other bytes in a letter", "", "UPDATE headrace_dead_letters SET payload = x'7b7d' WHERE class = 'permanent'", "1 messages are lost"},
		{"applied twice", "", "INSERT INTO invoices SELECT * FROM invoices WHERE key = (SELECT min(key) FROM invoices)", "1 orders were applied twice"},
		{"applied twice under another key", "", "INSERT INTO invoices SELECT 'k', message_id, shop, order_id, order_name, email, currency, total_minor, lines " +
			"FROM invoices WHERE key = (SELECT min(key) FROM invoices)", "1 orders were applied twice"},
		{"broken invariant", "", "UPDATE headrace_inbox SET state = 'waiting' WHERE key = (SELECT min(key) FROM headrace_inbox WHERE state = 'done')", "does not hold"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "orders.db")
			runChild(t, nil, "-json", "-db", file, "-n", "40").holds(t)
			tamper(t, file, tc.statement)
			r := runChild(t, nil, "-json", "-db", file, "-n", "0")
			if r.code != exitFailed || !strings.Contains(r.stderr, tc.says) {
				t.Errorf("exit %d, stderr %q, want %d and %q\n%s", r.code, r.stderr, exitFailed, tc.says, r.stdout)
			}
		})
	}
}

// A letter that a person edited and redrove is another order than the journal has: it waits, and then it is applied.
func TestEditedLetterIsApplied(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.db")
	first := runChild(t, nil, "-json", "-db", file, "-n", "40").holds(t)
	st, err := sqlite.Open(t.Context(), file, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	admin := redrive.New(st)
	letters, err := admin.List(t.Context(), dlq.Filter{Class: dlq.Permanent}, 0, 1)
	if err != nil || len(letters) != 1 {
		t.Fatalf("%d letters, %v", len(letters), err)
	}
	detail, err := admin.Show(t.Context(), letters[0].LetterID)
	if err != nil {
		t.Fatal(err)
	}
	l := detail.Letter.Delivery
	payload := regexp.MustCompile(`"total_price":"[^"]*"`).ReplaceAll(l.Payload, []byte(`"total_price":"10.00"`))
	edit := dlq.Edit{LetterID: letters[0].LetterID, Rev: 1, Content: dlq.Content{Payload: payload, Metadata: l.Metadata}, By: "ann", Reason: "fixed"}
	if err := store.Transact(t.Context(), st, func(tx *txn.Txn) error { return admin.EditIn(t.Context(), tx, edit) }); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Redrive(t.Context(), redrive.Request{Filter: dlq.Filter{IDs: []int64{edit.LetterID}}, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := openDatabase(t.Context(), options{db: file})
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := conclude(t.Context(), d)
	if err := errors.Join(err, d.close()); err != nil || waiting.Lost != 0 || waiting.Waiting != 1 {
		t.Errorf("before it runs: %+v, %v", waiting.figures, err)
	}
	last := runChild(t, nil, "-json", "-db", file, "-n", "0").holds(t)
	if last.Applied != first.Applied+1 || last.figures.Dead != first.figures.Dead-1 {
		t.Errorf("figures %+v, were %+v", last.figures, first.figures)
	}
}

// An error of the input is not the end of what was read.
func TestFailingInputIsReported(t *testing.T) {
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	var stdout bytes.Buffer
	line := strings.NewReader(`{"id":"a","payload":{}}` + "\n")
	code := Main(bill, []string{"-json", "-in", "-"}, io.MultiReader(line, failing{}), &stdout, stderr)
	said, err := os.ReadFile(stderr.Name())
	if err != nil {
		t.Fatal(err)
	}
	rep := result{stdout: stdout.String()}.final(t)
	if code != exitFailed || rep.Delivered != 1 || rep.Lost != 0 || !strings.Contains(string(said), "line 2 of the input") {
		t.Errorf("exit %d, stderr %q, figures %+v", code, said, rep)
	}
}

// A directory as the input is told at once: there are no figures to print, and no database is made.
func TestDirectoryAsInput(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "orders.db")
	r := runChild(t, nil, "-db", db, "-in", dir)
	if r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, "is a directory") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(db); !os.IsNotExist(err) {
		t.Errorf("a database was made: %v", err)
	}
}
