package export_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/export"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/redact"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

// fixture is a database, and a SQLite file of the same consumer. The handler of each fails, or not.
type fixture struct {
	*enginetest.Fixture
	h     *task.Handler
	e     *enginetest.Engine
	fails bool

	other       *enginetest.Store
	otherEngine *enginetest.Engine
	otherFails  bool
}

func onEachStore(t *testing.T, check func(*fixture)) {
	enginetest.OnEachStore(t, func(e *enginetest.Fixture) {
		f := &fixture{Fixture: e, e: e.Engine(nil), fails: true, otherFails: true}
		st, err := sqlite.Open(f.Context(), filepath.Join(f.TempDir(), "other.db"), sqlite.Options{Migrate: true})
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { f.checkOther(st); _ = st.Close() })
		if _, err := st.DB().Exec("CREATE TABLE effects (msg TEXT NOT NULL)"); err != nil {
			f.Fatal(err)
		}
		f.other = &enginetest.Store{Store: st}
		f.otherEngine = e.EngineOn(f.other, nil)
		f.h = f.handler(&f.fails)
		for _, st := range []store.Store{f.Store, f.other} {
			f.must(st.Operations().Instances.Start(f.Context(), instance.Instance{ID: "i-1", Consumer: enginetest.Consumer, Environment: "staging"}))
		}
		check(f)
	})
}

func (f *fixture) handler(fails *bool) *task.Handler {
	return enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
		if *fails {
			return enginetest.ErrBoom
		}
		return enginetest.Effect(ctx, tx, in)
	})
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) checkOther(st *sqlite.Store) {
	report, err := st.Check(context.Background())
	if err != nil || !report.OK() {
		f.Errorf("the other database: %+v, %v", report, err)
	}
}

// payloads are contents of messages; each is a key, too.
var payloads = map[string][]byte{"text": []byte("<é>\x00"), "bytes": {0xff, 0xfe}, "empty": {}, "tombstone": nil}

// die makes letters, two of them edited, in one of the databases.
func (f *fixture) die(st *enginetest.Store, e *enginetest.Engine, fails *bool) {
	f.Helper()
	h := f.handler(fails)
	h.Policy = enginetest.Attempts(2)
	var tasks []*task.Task
	for _, key := range []string{"text", "bytes", "empty", "tombstone"} {
		d := enginetest.Delivery(h, key, "o"+key)
		d.Payload, d.Metadata = payloads[key], map[string]string{"name": "vä", "raw": "\xff"}
		tasks = append(tasks, e.Task(h, d))
	}
	e.ProcessAll(tasks)
	e.WorkOff(e.Worker(h))
	letters := f.list(st)
	if len(letters) != len(payloads) {
		f.Fatalf("%d letters", len(letters))
	}
	for rev := 1; rev <= 2; rev++ {
		f.must(store.Transact(f.Context(), st, func(t *txn.Txn) error {
			edit := dlq.Edit{LetterID: letters[0].LetterID, Rev: rev, Content: dlq.Content{Payload: fmt.Append(nil, "rev ", rev), Metadata: map[string]string{}}, By: "cleo", Reason: "typo"}
			return redrive.New(st).EditIn(f.Context(), t, edit)
		}))
	}
}

// list returns the complete letters, the oldest first.
func (f *fixture) list(st store.Store) (letters []dlq.Letter) {
	f.Helper()
	found, err := st.Letters().List(f.Context(), dlq.Filter{AnyState: true}, 0, 1000)
	f.must(err)
	for _, l := range slices.Backward(found) {
		whole, err := st.Letters().Get(f.Context(), l.LetterID)
		f.must(err)
		letters = append(letters, whole)
	}
	return letters
}

// export returns the file of a database's letters.
func (f *fixture) export(st store.Store, filter dlq.Filter, rules *redact.Rules) []byte {
	f.Helper()
	var file bytes.Buffer
	_, err := export.Export(f.Context(), st, 1, export.Request{Filter: filter, By: "ann", Reason: "move", Rules: rules}, &file)
	f.must(err)
	return file.Bytes()
}

// importInto imports a file as the command does.
func (f *fixture) importInto(st store.Store, file []byte) (s export.Survey, r export.Result, err error) {
	f.Helper()
	if s, err = export.Look(f.Context(), st, 1, bytes.NewReader(file)); err == nil {
		r, err = export.Import(f.Context(), st, s, export.Order{By: "bo", Reason: "INC-7"}, bytes.NewReader(file))
	}
	return s, r, err
}

// An imported letter is what it was in the other database, but for what is of that database. A redrive
// applies its message once; then a delivery of the same key is a duplicate. The file again imports
// nothing.
//
//evidence:export
func TestImport(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.e.Deliver(f.h, "first") // so that ids differ
		f.die(f.other, f.otherEngine, &f.otherFails)
		file := f.export(f.other, dlq.Filter{Consumer: enginetest.Consumer}, nil)
		s, r, err := f.importInto(f.Store, file)
		if err != nil || s.New != 4 || r.Imported != 4 || len(s.Over)+len(r.Over) != 0 || s.Environment != "staging" || s.By != "ann" {
			f.Fatalf("%+v, %+v, %v", s, r, err)
		}
		want, got := f.list(f.other), f.list(f.Store)[1:]
		own := cmpopts.IgnoreFields(dlq.Letter{}, "LetterID", "CreatedAt", "ChangedAt", "Rev")
		if diff := cmp.Diff(want, got, own); diff != "" {
			f.Errorf("(-other +here) %s", diff)
		}
		for i, l := range got {
			if wants, gets := f.runs(f.other, want[i].ID()), f.runs(f.Store, l.ID()); len(wants) != 2 || !cmp.Equal(wants, gets) {
				f.Errorf("%s", cmp.Diff(wants, gets))
			}
			f.origin(l, want[i].LetterID, s.Database)
		}
		if l := got[0]; l.Rev != 1 || string(l.Message().Payload) != "rev 2" {
			f.Errorf("the newest edit is rev %d: %q", l.Rev, l.Message().Payload)
		}
		f.counted(got[0].ErrorFingerprint, 5)

		again, r, err := f.importInto(f.Store, file)
		if err != nil || again.New != 0 || r.Imported != 0 || !slices.Equal(r.Over, []export.Why{{Why: "dead here already", Count: 4}}) {
			f.Errorf("again: %+v, %+v, %v", again, r, err)
		}
		f.fails = false
		f.redrive()
		for key := range payloads {
			f.e.Deliver(f.h, key)
			if o := f.e.Outcomes(key); f.Effects(key) != 1 || o[len(o)-1] != task.Duplicate {
				f.Errorf("%s: applied %d times, then %v", key, f.Effects(key), o)
			}
		}
		if _, r, err = f.importInto(f.Store, file); err != nil || r.Imported != 0 || r.Over[0].Why != "applied here" {
			f.Errorf("after the redrive: %+v, %v", r, err)
		}
		f.counted(got[0].ErrorFingerprint, 0)
	})
}

// From PostgreSQL into SQLite, and back into the database that they come from.
func TestImportInto(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.die(f.Store, f.e, &f.fails)
		file := f.export(f.Store, dlq.Filter{}, nil)
		if _, r, err := f.importInto(f.other, file); err != nil || r.Imported != 4 {
			f.Errorf("%+v, %v", r, err)
		}
		own := cmpopts.IgnoreFields(dlq.Letter{}, "LetterID", "CreatedAt", "ChangedAt", "Rev")
		if diff := cmp.Diff(f.list(f.Store), f.list(f.other), own); diff != "" {
			f.Errorf("(-here +other) %s", diff)
		}
		if _, r, err := f.importInto(f.Store, file); err != nil || r.Imported != 0 {
			f.Errorf("into its own database: %+v, %v", r, err)
		}
	})
}

// redrive redrives all open letters, and has their messages handled.
func (f *fixture) redrive() {
	f.Helper()
	_, err := redrive.New(f.Store).Redrive(f.Context(), redrive.Request{All: true, By: "ann"})
	f.must(err)
	f.e.WorkOff(f.e.Worker(f.h))
}

func (f *fixture) runs(st store.Store, id inbox.ID) []inbox.Attempt {
	f.Helper()
	list, err := st.Inbox().Attempts(f.Context(), id)
	f.must(err)
	return list
}

// origin fails the test unless the audit says where a letter comes from.
func (f *fixture) origin(l dlq.Letter, id int64, database string) {
	f.Helper()
	trail, err := f.Store.Letters().Trail(f.Context(), l.LetterID)
	f.must(err)
	says := fmt.Sprintf("letter %d of database %s, environment", id, database)
	if len(trail) != 1 || trail[0].Action != "import" || trail[0].By != "bo" || trail[0].Reason != "INC-7" || !strings.HasPrefix(trail[0].Detail, says) {
		f.Errorf("%+v, want %q", trail, says)
	}
}

// counted fails the test unless the counters of a group say so.
func (f *fixture) counted(fingerprint string, open int64) {
	f.Helper()
	list, err := f.Store.Operations().Groups.List(f.Context(), groups.Filter{ErrorFingerprint: fingerprint, Closed: true})
	if err != nil || len(list) != 1 || list[0].Open != open {
		f.Errorf("%+v, %v, want %d open", list, err, open)
	}
}

// What is not imported, and why. Nothing is written for it.
//
//evidence:export
func TestPassedOver(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.otherEngine.Deliver(f.handler(&f.otherFails), "done", "dead", "waiting", "discarded", "another", "closed", "stepped", "new", "twice")
		f.must(errors.Join(f.discard(f.other, "closed"), f.step("stepped", "done")))
		conflict := enginetest.Delivery(f.h, "new", "")
		conflict.Fingerprint = "g"
		f.otherEngine.ProcessAll([]*task.Task{f.otherEngine.Task(f.handler(&f.otherFails), conflict)})
		f.e.Deliver(f.h, "dead", "discarded")
		f.must(f.discard(f.Store, "discarded"))
		f.fails = false
		another := enginetest.Delivery(f.h, "another", "")
		another.Fingerprint = "g"
		f.e.ProcessAll([]*task.Task{f.e.Task(f.h, another)})
		f.e.Deliver(f.h, "done")
		f.e.Put(f.h, "waiting")

		file := f.export(f.other, dlq.Filter{AnyState: true}, nil)
		letters := f.Count("SELECT count(*) FROM headrace_dead_letters")
		s, r, err := f.importInto(f.Store, file)
		if err != nil || r.Imported != 2 || f.State(f.h, "new") != inbox.Dead || f.State(f.h, "twice") != inbox.Dead {
			f.Errorf("%+v, %v", r, err)
		}
		want := []export.Why{
			{Why: "a conflict: the message that had its key first does not come along", Count: 1},
			{Why: "a step may have been called, and a redrive would call it again", Count: 1},
			{Why: "another message has the key here", Count: 1}, {Why: "applied here", Count: 1}, {Why: "dead here already", Count: 1},
			{Why: "discarded here", Count: 1}, {Why: "discarded where they come from", Count: 1}, {Why: "waits here", Count: 1},
		}
		if diff := cmp.Diff(want, r.Over); diff != "" || !cmp.Equal(want, s.Over) || s.New != 2 {
			f.Errorf("%s\n%+v", diff, s)
		}
		if n := f.Count("SELECT count(*) FROM headrace_dead_letters"); n != letters+2 {
			f.Errorf("%d letters, before %d", n, letters)
		}
		f.e.WorkOff(f.e.Worker(f.h))
	})
}

func (f *fixture) discard(st store.Store, key string) error {
	_, err := redrive.New(st).Discard(f.Context(), redrive.Request{Filter: dlq.Filter{Key: key}, By: "ann", Reason: "x"})
	return err
}

// step records a step of a message of the other database.
func (f *fixture) step(key, state string) error {
	return store.Transact(f.Context(), f.other, func(t *txn.Txn) error {
		_, err := t.ExecContext(f.Context(), `INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, via, external_id, result, error, first_call_at, last_call_at, settled_at, changed_at)
			SELECT scope, key, 's', 'erp', $2, 'c', '', 'call', '', x'7b7d', '', changed_at, changed_at, changed_at, changed_at FROM headrace_inbox WHERE key = $1`, key, state)
		return err
	})
}

// A commit without an answer, or that lost, is made again, and each letter is counted once. What an
// interrupted import has not done, the next one does.
//
//evidence:export
func TestImportAgain(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		var tasks []*task.Task
		for _, key := range enginetest.Keys("k", 12) { // in three batches
			d := enginetest.Delivery(f.h, key, "")
			d.Payload = bytes.Repeat([]byte("x"), 100_000)
			tasks = append(tasks, f.otherEngine.Task(f.handler(&f.otherFails), d))
		}
		f.otherEngine.ProcessAll(tasks)
		file := f.export(f.other, dlq.Filter{}, nil)
		s, err := export.Look(f.Context(), f.Store, 1, bytes.NewReader(file))
		f.must(err)
		ctx, stop := context.WithCancel(f.Context())
		first := export.Order{By: "bo", Reason: "x", Progress: func(int) { stop() }}
		f.Store.Swallow(1)
		r, err := export.Import(ctx, f.Store, s, first, bytes.NewReader(file))
		if !errors.Is(err, context.Canceled) || r.Imported != 5 || len(r.Over) != 0 || len(f.list(f.Store)) != 5 {
			f.Errorf("interrupted: %+v, %v", r, err)
		}
		f.Store.Lose(2)
		_, r, err = f.importInto(f.Store, file)
		if err != nil || r.Imported != 7 || !slices.Equal(r.Over, []export.Why{{Why: "dead here already", Count: 5}}) {
			f.Errorf("the rest: %+v, %v", r, err)
		}
		if n := f.Count("SELECT count(*) FROM headrace_dead_letters WHERE state = 'open'"); n != 12 {
			f.Errorf("%d letters", n)
		}
		if n := f.Count("SELECT count(*) FROM headrace_audit WHERE action = 'import' AND subject_kind = 'letter'"); n != 12 {
			f.Errorf("%d audit rows", n)
		}
	})
}

// A file that is not for this database changes nothing.
func TestImportRefuses(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.e.Deliver(f.h, "a")
		whole := f.export(f.Store, dlq.Filter{}, nil)
		cut := whole[:bytes.LastIndex(whole[:len(whole)-1], []byte("\n"))+1]
		for name, tc := range map[string]struct {
			file   []byte
			schema int
			says   string
		}{
			"redacted":       {f.export(f.Store, dlq.Filter{}, redact.New()), 1, "it is redacted"},
			"cut":            {cut, 1, "it was cut"},
			"older schema":   {whole, 0, "it has version 1 of the schema, and this headrace knows up to 0"},
			"other consumer": {bytes.ReplaceAll(whole, []byte(`"consumer":"test"`), []byte(`"consumer":"other"`)), 1, "never run on this database"},
		} {
			_, err := export.Look(f.Context(), f.other, tc.schema, bytes.NewReader(tc.file))
			if !errors.Is(err, export.ErrFile) || !strings.Contains(err.Error(), tc.says) {
				f.Errorf("%s: %v", name, err)
			}
		}
		// It is changed after it was looked at.
		s, err := export.Look(f.Context(), f.other, 1, bytes.NewReader(whole))
		f.must(err)
		another := f.export(f.Store, dlq.Filter{}, nil)
		for _, now := range [][]byte{cut, another} {
			if _, err := export.Import(f.Context(), f.other, s, export.Order{By: "bo", Reason: "x"}, bytes.NewReader(now)); !errors.Is(err, export.ErrFile) || len(f.list(f.other)) != 0 {
				f.Errorf("it is another file now: %v, %d letters", err, len(f.list(f.other)))
			}
		}
	})
}

// A redacted export hides what a person may not see; one that is not is on record before it leaves. An export is of
// one consumer.
func TestExport(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		if file := f.export(f.Store, dlq.Filter{}, nil); len(file) != 0 {
			f.Errorf("of nothing: %s", file)
		}
		d := enginetest.Delivery(f.h, "a", "")
		d.Payload, d.Metadata = []byte(`{"password":"canary"}`), map[string]string{"Authorization": "canary"}
		f.e.ProcessAll([]*task.Task{f.e.Task(f.h, d)})
		recorded := func() int {
			return f.Count("SELECT count(*) FROM headrace_audit WHERE action = 'export' AND by_whom = 'ann'")
		}
		if file := f.export(f.Store, dlq.Filter{}, redact.New()); bytes.Contains(file, []byte("canary")) || recorded() != 0 {
			f.Errorf("%s", file)
		}
		if file := f.export(f.Store, dlq.Filter{}, nil); bytes.Count(file, []byte("canary")) != 2 || recorded() != 1 {
			f.Errorf("%s, %d audit rows", file, recorded())
		}
		shipping := enginetest.Handler("orders", func(context.Context, *headrace.Tx, task.Input) error { return enginetest.ErrBoom })
		shipping.Consumer, shipping.Scope = "shipping", "shipping/orders"
		f.e.Deliver(shipping, "b")
		if _, err := export.Export(f.Context(), f.Store, 1, export.Request{By: "ann"}, &bytes.Buffer{}); !errors.Is(err, export.ErrConsumers) {
			f.Errorf("of two consumers: %v", err)
		}
		if file := f.export(f.Store, dlq.Filter{Consumer: "shipping"}, nil); !bytes.Contains(file, []byte(`"count":1`)) {
			f.Errorf("%s", file)
		}
		if n, err := redrive.New(f.Store).Discard(f.Context(), redrive.Request{All: true, By: "ann", Reason: "test"}); err != nil || n.Done != 2 {
			f.Fatal(n, err)
		}
		if file := f.export(f.Store, dlq.Filter{Consumer: "shipping", AnyState: true}, nil); !bytes.Contains(file, []byte(`"count":1`)) {
			f.Errorf("where none is open: %s", file)
		}
	})
}
