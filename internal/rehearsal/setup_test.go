package rehearsal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/rehearsal"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run is what a handler does.
type run func(ctx context.Context, tx *headrace.Tx, in task.Input) error

// fixture is a consumer with one handler, which has given messages up.
type fixture struct {
	*enginetest.Fixture
	e *enginetest.Engine
	h *task.Handler
	r *rehearsal.Rehearser
	// last is the newest transaction that the rehearser has begun.
	last *txn.Txn

	mu sync.Mutex
	do run
}

func (f *fixture) now(do run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.do = do
}

// onEachDriver runs check on each database, with letters of these keys, which failed with
// enginetest.ErrBoom.
func onEachDriver(t *testing.T, keys []string, check func(*fixture)) {
	enginetest.OnEachDriver(t, func(e *enginetest.Fixture) {
		f := &fixture{Fixture: e, e: e.Engine(nil)}
		f.h = enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			f.mu.Lock()
			do := f.do
			f.mu.Unlock()
			return do(ctx, tx, in)
		})
		f.h.Rehearsable = true
		f.now(func(context.Context, *headrace.Tx, task.Input) error { return enginetest.ErrBoom })
		f.e.Deliver(f.h, keys...)
		f.r = f.rehearser(f.h)
		f.now(effect)
		check(f)
	})
}

// effect writes a row and publishes an event.
func effect(ctx context.Context, tx *headrace.Tx, in task.Input) error {
	if err := tx.Publish(headrace.Event{Topic: "invoices.created", Payload: []byte("{}")}); err != nil {
		return err
	}
	return enginetest.Effect(ctx, tx, in)
}

type noGuard struct{}

func (noGuard) Enter(context.Context, []inbox.ID, bool) (func(bool), error) {
	return func(bool) {}, nil
}

// spied is a store that notes what is begun.
type spied struct {
	store.Store
	f *fixture
}

func (s spied) Begin(ctx context.Context) (*txn.Txn, error) {
	t, err := s.Store.Begin(ctx)
	s.f.last = t
	return t, err
}

func (f *fixture) rehearser(handlers ...*task.Handler) *rehearsal.Rehearser {
	sessions := new(sync.WaitGroup)
	f.Cleanup(sessions.Wait)
	return rehearsal.New(rehearsal.Options{
		Store: spied{f.Store.Store, f}, Handlers: handlers, Instance: instance.Instance{Host: "pod-2", Build: "v2"}, Guard: noGuard{},
		Sessions: sessions, Left: new(task.LeftBehind), Logger: slog.New(slog.DiscardHandler),
	})
}

// ask asks for a rehearsal.
func (f *fixture) ask(args rehearsal.Args) (rehearsal.Report, error) {
	f.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		f.Fatal(err)
	}
	answer, err := f.r.Act(f.Context(), instance.Request{Kind: rehearsal.Kind, Consumer: enginetest.Consumer, Args: text, By: "ann"})
	report, _ := answer.(rehearsal.Report)
	return report, err
}

// rehearse rehearses all letters, and fails the test on an error.
func (f *fixture) rehearse() rehearsal.Report {
	f.Helper()
	report, err := f.ask(rehearsal.Args{})
	if err != nil {
		f.Fatal(err)
	}
	return report
}

// unchanged fails the test if do changes a row of any table.
func (f *fixture) unchanged(do func()) {
	f.Helper()
	before := f.tables()
	do()
	after := f.tables()
	for name, rows := range before {
		if !slices.Equal(rows, after[name]) {
			f.Errorf("%s was\n%q\nand is\n%q", name, rows, after[name])
		}
	}
	if len(before) < 10 || len(before["headrace_dead_letters"]) == 0 {
		f.Errorf("%d tables were compared", len(before))
	}
}

// tables returns the rows of all tables.
func (f *fixture) tables() map[string][]string {
	f.Helper()
	list := "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
	if f.SQLite {
		list = "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	tables := make(map[string][]string)
	for _, name := range f.texts(list) {
		tables[name] = f.texts(fmt.Sprintf("SELECT * FROM %s", name))
		slices.Sort(tables[name])
	}
	return tables
}

// texts returns the rows of a query as texts.
func (f *fixture) texts(query string) (texts []string) {
	f.Helper()
	rows, err := f.DB.Query(query)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		f.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			f.Fatal(err)
		}
		text := fmt.Sprintf("%v", values)
		if len(values) == 1 {
			text = fmt.Sprintf("%s", values[0])
		}
		texts = append(texts, text)
	}
	if err := rows.Err(); err != nil {
		f.Fatal(err)
	}
	return texts
}
