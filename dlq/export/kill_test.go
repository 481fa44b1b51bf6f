package export_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/export"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

// role is the variable that makes this program a process that imports a file.
const role = "HEADRACE_EXPORT_CHILD"

// place is a database, and a file to import into it.
type place struct{ DSN, Schema, SQLite, File string }

type opened interface {
	store.Store
	store.Checker
	io.Closer
}

func (p place) open(ctx context.Context) (opened, error) {
	if p.SQLite != "" {
		return sqlite.Open(ctx, p.SQLite, sqlite.Options{Migrate: true})
	}
	return postgres.Open(ctx, p.DSN, postgres.Options{Schema: p.Schema, Migrate: true})
}

func TestMain(m *testing.M) {
	if text := os.Getenv(role); text != "" {
		fmt.Fprintln(os.Stderr, child(text))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// child imports until its second commit, and says so.
func child(text string) error {
	var p place
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return err
	}
	st, err := p.open(context.Background())
	if err != nil {
		return err
	}
	_, err = p.importFile(context.Background(), &stuck{Store: st})
	return err
}

func (p place) importFile(ctx context.Context, st store.Store) (r export.Result, err error) {
	text, err := os.ReadFile(p.File)
	if err != nil {
		return r, err
	}
	s, err := export.Look(ctx, st, 1, bytes.NewReader(text))
	if err != nil {
		return r, err
	}
	return export.Import(ctx, st, s, export.Order{By: "bo", Reason: "x"}, bytes.NewReader(text))
}

// stuck is a store whose second commit never comes.
type stuck struct {
	store.Store
	commits int
}

func (s *stuck) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	if s.commits++; s.commits == 2 {
		fmt.Println("ready")
		select {}
	}
	return s.Store.Commit(ctx, t, events)
}

// A process that is killed while it imports leaves whole batches; the same file goes on with the
// rest, and imports no letter twice.
//
//evidence:export
func TestKilledImport(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killImport(t, place{SQLite: filepath.Join(t.TempDir(), "test.db")})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		killImport(t, place{DSN: dsn, Schema: schema})
	})
}

func killImport(t *testing.T, p place) {
	ctx := t.Context()
	st, err := p.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if err := st.Operations().Instances.Start(ctx, instance.Instance{ID: "i-1", Consumer: "billing"}); err != nil {
		t.Fatal(err)
	}
	p.File = filepath.Join(t.TempDir(), "letters")
	writeFile(t, p.File)
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), role+"="+string(text)), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the process says %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	r, err := p.importFile(ctx, st)
	if err != nil || r.Imported != 7 || len(r.Over) != 1 || r.Over[0] != (export.Why{Why: "dead here already", Count: 5}) {
		t.Errorf("the rest: %+v, %v", r, err)
	}
	if n, err := st.Letters().Count(ctx, dlq.Filter{}); n != 12 || err != nil {
		t.Errorf("%d letters, %v", n, err)
	}
	if report, err := st.Check(ctx); err != nil || !report.OK() {
		t.Errorf("%+v, %v", report, err)
	}
}

// writeFile writes an export of 12 letters, which are imported in three batches.
func writeFile(t *testing.T, name string) {
	t.Helper()
	var file bytes.Buffer
	w, err := export.NewWriter(&file, export.Header{Database: "d", Schema: 1, Consumer: "billing"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 12 {
		l := export.Letter{Letter: dlq.Letter{LetterID: int64(n + 1), State: dlq.Open, Class: dlq.Permanent, Consumer: "billing", Handler: "orders", Delivery: headrace.Delivery{
			Scope: "billing/orders", Key: fmt.Sprint(n), Fingerprint: "f", Topic: "orders", Payload: bytes.Repeat([]byte("x"), 100_000),
		}}}
		if err := w.Letter(&l); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.End(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
