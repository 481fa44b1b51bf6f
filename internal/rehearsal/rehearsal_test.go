package rehearsal_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/rehearsal"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// A handler that would pass leaves nothing behind, and publishes nothing.
//
//evidence:rehearsal
func TestPass(t *testing.T) {
	onEachDriver(t, []string{"a", "b", "c"}, func(f *fixture) {
		rehearsing := 0
		f.now(func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			if headrace.Rehearsing(ctx) {
				rehearsing++
			}
			_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg) VALUES ($1)", "beside "+in.Delivery.Key)
			return errors.Join(err, effect(ctx, tx, in))
		})
		var report rehearsal.Report
		f.unchanged(func() { report = f.rehearse() })
		if report.Pass != 3 || report.Of != 3 || report.Host != "pod-2" || report.Build != "v2" || rehearsing != 3 {
			f.Errorf("%+v; %d runs knew of the rehearsal", report, rehearsing)
		}
		for _, one := range report.Results {
			if one.Rows != 2 || !maps.Equal(one.Events, map[string]int{"invoices.created": 1}) || one.Outcome != rehearsal.Passes {
				f.Errorf("%+v", one)
			}
		}
		f.now(effect) // it holds back nothing: the letters can be redriven
		f.AppliedNever("a", "b", "c")
	})
}

// The rehearsal of a group is a row of its audit, which says how many would pass, and of which build. That of
// letters by their numbers is none.
//
//evidence:rehearsal
func TestRehearsalInTheAudit(t *testing.T) {
	onEachDriver(t, []string{"a", "b", "c"}, func(f *fixture) {
		group := dlq.Filter{Handler: "orders", ErrorFingerprint: f.Letters()[0].ErrorFingerprint}
		for _, of := range []rehearsal.Args{{}, {Filter: group}} {
			if _, err := f.ask(of); err != nil {
				f.Fatal(err)
			}
		}
		f.now(byKey)
		f.e.Deliver(f.h, "same")
		if _, err := f.ask(rehearsal.Args{Filter: group}); err != nil {
			f.Fatal(err)
		}
		rows, err := f.Store.Operations().Audit.List(f.Context(), audit.Filter{Kind: audit.Group, Subject: group.ErrorFingerprint}, 0, 10)
		if err != nil || len(rows) != 2 {
			f.Fatalf("%+v, %v", rows, err)
		}
		for i, want := range []string{"rehearse-fails: 3 of 4 rehearsed letters would pass on v2", "rehearse: 3 of 3 rehearsed letters would pass on v2"} {
			row := rows[i]
			if got := row.Action + ": " + row.Reason; got != want || row.By != "ann" || row.Detail != enginetest.Consumer+"/orders" || !job.RehearsedOn(row, "v2") || job.RehearsedOn(row, "2") {
				f.Errorf("%+v, want %q", row, want)
			}
		}
	})
}

// AppliedNever fails the test if a message has an effect.
func (f *fixture) AppliedNever(keys ...string) {
	f.Helper()
	for _, key := range keys {
		if n := f.Effects(key); n != 0 || f.State(f.h, key) != inbox.Dead {
			f.Errorf("%s: %d effects, state %q", key, n, f.State(f.h, key))
		}
	}
}

var errOther = errors.New("no such customer")

// byKey is a handler that does with a message what its key says.
func byKey(ctx context.Context, tx *headrace.Tx, in task.Input) error {
	if err := effect(ctx, tx, in); err != nil {
		return err
	}
	switch in.Delivery.Key {
	case "same":
		return enginetest.ErrBoom
	case "another":
		return errOther
	case "new":
		return errors.New("something else")
	case "panic":
		panic("oh")
	case "exit":
		runtime.Goexit()
	case "postponed":
		return retry.Postpone(time.Hour, errOther)
	case "stale":
		return inbox.ErrStale
	case "late":
		<-ctx.Done()
		return ctx.Err()
	case "ignored":
		_, _ = tx.ExecContext(ctx, "INSERT INTO nowhere VALUES (1)")
	}
	return nil
}

// What a handler does with a letter is told, and none of it is kept.
//
//evidence:rehearsal
func TestOutcomes(t *testing.T) {
	keys := []string{"same", "another", "new", "panic", "exit", "postponed", "stale", "late", "ignored"}
	onEachDriver(t, keys, func(f *fixture) {
		f.now(func(context.Context, *headrace.Tx, task.Input) error { return errOther })
		f.e.Deliver(f.h, "pass")
		f.h.Timeout = time.Second
		f.now(byKey)
		f.r = f.rehearser(f.h)
		var report rehearsal.Report
		f.unchanged(func() { report = f.rehearse() })
		type result struct {
			outcome rehearsal.Outcome
			group   rehearsal.Group
			says    string
		}
		want := map[string]result{
			"same": {rehearsal.Fails, rehearsal.SameGroup, "boom"}, "another": {rehearsal.Fails, rehearsal.AnotherGroup, "no such customer"},
			"new": {rehearsal.Fails, rehearsal.NewGroup, "something else"}, "panic": {rehearsal.Fails, rehearsal.NewGroup, "oh"},
			"exit": {rehearsal.Fails, rehearsal.NewGroup, "Goexit"}, "postponed": {rehearsal.Postpone, "", "no such customer"},
			"stale": {rehearsal.Passes, "", ""}, "late": {rehearsal.Fails, rehearsal.NewGroup, "deadline"},
			"ignored": {rehearsal.Fails, rehearsal.NewGroup, "ignored its error"}, "pass": {rehearsal.Passes, "", ""},
		}
		if f.SQLite { // a failed statement leaves the transaction as it was
			want["ignored"] = result{rehearsal.Passes, "", ""}
		}
		for _, l := range f.Letters() {
			i := slices.IndexFunc(report.Results, func(r rehearsal.Result) bool { return r.LetterID == l.LetterID })
			got, w := report.Results[i], want[l.Delivery.Key]
			if got.Outcome != w.outcome || got.Group != w.group || !strings.Contains(got.Error, w.says) || got.Stale != (l.Delivery.Key == "stale") {
				f.Errorf("%s: %+v", l.Delivery.Key, got)
			}
		}
		f.AppliedNever(keys...)
		if n := len(f.e.Failures()); n != len(keys)+1 {
			f.Errorf("%d failures were recorded", n)
		}
	})
}

// What only COMMIT would find is found: a deferred foreign key, and on PostgreSQL a constraint
// trigger. The group is that which a letter of this cause has.
//
//evidence:rehearsal
func TestDeferredConstraints(t *testing.T) {
	onEachDriver(t, nil, func(f *fixture) {
		f.Exec("CREATE TABLE customers (id integer PRIMARY KEY)")
		f.Exec("CREATE TABLE invoices (customer integer REFERENCES customers (id) DEFERRABLE INITIALLY DEFERRED, total integer)")
		f.now(func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO invoices VALUES (99, 5)")
			return err
		})
		f.e.Deliver(f.h, "alone")
		f.e.Deliver(f.h, "with", "others")
		f.unchanged(func() {
			for _, one := range f.rehearse().Results {
				if one.Outcome != rehearsal.Fails || one.Group != rehearsal.SameGroup {
					f.Errorf("a foreign key: %+v", one)
				}
			}
		})
		if f.SQLite {
			return
		}
		f.Exec("INSERT INTO customers VALUES (99)")
		f.Exec(`CREATE FUNCTION nope() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'negative at commit'; END $$`)
		f.Exec("CREATE CONSTRAINT TRIGGER late AFTER INSERT ON invoices DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION nope()")
		f.unchanged(func() {
			for _, one := range f.rehearse().Results {
				if one.Outcome != rehearsal.Fails || one.Group != rehearsal.NewGroup || !strings.Contains(one.Error, "negative at commit") {
					f.Errorf("a trigger: %+v", one)
				}
			}
		})
	})
}

// A handler that commits the transaction by itself doubles nothing: its message is done, and
// its letter closed. It is not rehearsed again. SQLite refuses the COMMIT.
//
//evidence:rehearsal
func TestHandlerThatCommits(t *testing.T) {
	onEachDriver(t, []string{"a", "b"}, func(f *fixture) {
		f.now(func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			return errors.Join(effect(ctx, tx, in), f.last.SQL().Commit())
		})
		if f.SQLite {
			f.unchanged(func() {
				report := f.rehearse()
				if report.Fail != 1 || report.Skipped != 1 || !strings.Contains(report.Results[1].Why, "by itself") {
					f.Errorf("%+v", report)
				}
			})
			f.AppliedNever("a", "b")
			return
		}
		report := f.rehearse()
		first, second := report.Results[0], report.Results[1]
		if report.Applied != 1 || first.Outcome != rehearsal.Applied || second.Outcome != rehearsal.Skipped || !strings.Contains(second.Why, "by itself") {
			f.Errorf("%+v", report)
		}
		applied, err := f.Store.Letters().Get(f.Context(), first.LetterID)
		if err != nil || applied.State != dlq.Redriven || f.Effects(applied.Delivery.Key) != 1 || f.State(f.h, applied.Delivery.Key) != inbox.Done {
			f.Errorf("%s of key %s, %d effects, %v", applied.State, applied.Delivery.Key, f.Effects(applied.Delivery.Key), err)
		}
		trail, err := f.Store.Letters().Trail(f.Context(), first.LetterID)
		if err != nil || len(trail) != 1 || trail[0].By != "ann" {
			f.Errorf("%+v, %v", trail, err)
		}
		if _, err := f.ask(rehearsal.Args{}); !errors.Is(err, instance.ErrRefused) {
			f.Errorf("a second rehearsal: %v", err)
		}
	})
}

// A handler that ignores its context is abandoned, and its transaction cut.
//
//evidence:rehearsal
func TestStuckHandler(t *testing.T) {
	onEachDriver(t, []string{"a", "b"}, func(f *fixture) {
		release, returned := make(chan struct{}), make(chan error, 1)
		f.h.Timeout = 10 * time.Millisecond
		f.r = f.rehearser(f.h)
		f.now(func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			err := effect(ctx, tx, in)
			<-release
			_, late := tx.ExecContext(context.Background(), "INSERT INTO effects (msg) VALUES ('late')")
			returned <- late
			return err
		})
		f.unchanged(func() {
			if report := f.rehearse(); report.Fail != 1 || report.NotReached != 1 || !strings.Contains(report.Results[0].Error, "did not return") {
				f.Errorf("%+v", report)
			}
			close(release)
			if err := <-returned; !errors.Is(err, headrace.ErrTxDone) {
				f.Errorf("a statement after the end: %v", err)
			}
		})
	})
}

// A handler that has more time outside of a rehearsal has not failed.
func TestSlowHandler(t *testing.T) {
	onEachDriver(t, []string{"a"}, func(f *fixture) {
		if !f.SQLite {
			return // five seconds there
		}
		f.now(func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			<-ctx.Done()
			return ctx.Err()
		})
		f.unchanged(func() {
			if report := f.rehearse(); report.Skipped != 1 || !strings.Contains(report.Results[0].Why, "longer than 1s") {
				f.Errorf("%+v", report)
			}
		})
	})
}

// A message that another transaction works on is left to it, and rows that live work holds are
// waited for a second.
func TestBusy(t *testing.T) {
	onEachDriver(t, []string{"a"}, func(f *fixture) {
		if f.SQLite {
			return // it has one writer
		}
		f.Exec("INSERT INTO effects (msg) VALUES ('row')")
		f.now(func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			_, err := tx.ExecContext(ctx, "UPDATE effects SET msg = 'changed' WHERE msg = 'row'")
			return err
		})
		for what, lock := range map[string]string{
			"the message": "SELECT 1 FROM headrace_inbox WHERE key = 'a' FOR UPDATE", "a row of its own": "SELECT 1 FROM effects FOR UPDATE",
		} {
			other, err := f.DB.BeginTx(f.Context(), nil)
			if err != nil {
				f.Fatal(err)
			}
			if _, err := other.Exec(lock); err != nil {
				f.Fatal(err)
			}
			f.unchanged(func() {
				if report := f.rehearse(); report.Skipped != 1 || !strings.Contains(report.Results[0].Why, "other") {
					f.Errorf("%s: %+v", what, report)
				}
			})
			if err := other.Rollback(); err != nil {
				f.Error(err)
			}
		}
	})
}

// What cannot be rehearsed is refused, with the reason.
func TestRefused(t *testing.T) {
	onEachDriver(t, []string{"a"}, func(f *fixture) {
		letter := f.Letters()[0]
		for says, change := range map[string]func(h *task.Handler){
			"stage 1 of a redrive is the trial": func(h *task.Handler) { h.Rehearsable = false },
			"Alone":                             func(h *task.Handler) { h.Alone = true },
			"HandleLeased":                      func(h *task.Handler) { h.Leased = &task.Leased{} },
			"Router":                            func(h *task.Handler) { h.Topic = "" },
			"no handler orders":                 func(h *task.Handler) { h.Name = "other" },
		} {
			h := enginetest.Handler("orders", f.do)
			h.Rehearsable = true
			change(h)
			f.r = f.rehearser(h)
			f.refused(rehearsal.Args{}, says)
		}
		f.r = f.rehearser(f.h)
		f.refused(rehearsal.Args{Letters: []int64{letter.LetterID + 100}}, "no letter of that number")
		f.refused(rehearsal.Args{Filter: dlq.Filter{ErrorFingerprint: "none"}}, "no open letter")
		f.refused(rehearsal.Args{Count: -1}, "1 to 100")
		for class, says := range map[dlq.Class]string{dlq.Crashed: "ended its process", dlq.Conflict: "conflict"} {
			f.Exec("UPDATE headrace_dead_letters SET class = $1", string(class))
			f.refused(rehearsal.Args{Letters: []int64{letter.LetterID}}, says)
		}
		f.Exec("UPDATE headrace_dead_letters SET class = 'exhausted'")
		f.Exec("UPDATE headrace_inbox SET state = 'done'")
		if report, err := f.ask(rehearsal.Args{}); err != nil || report.Skipped+report.Applied != 1 {
			f.Errorf("a message that is done: %+v, %v", report, err)
		}
	})
}

func (f *fixture) refused(args rehearsal.Args, says string) {
	f.Helper()
	if report, err := f.ask(args); !errors.Is(err, instance.ErrRefused) || !strings.Contains(err.Error(), says) {
		f.Errorf("want %q: %+v, %v", says, report, err)
	}
}

// A letter under a stand-in key runs under the key that its handler gives it now, unless
// another message has that.
//
//evidence:rehearsal
func TestStandInKey(t *testing.T) {
	onEachDriver(t, nil, func(f *fixture) {
		f.h.Identify = func(one *task.Task) { one.Delivery.Key = "own" }
		stand := "stand-in:x"
		f.now(func(context.Context, *headrace.Tx, task.Input) error { return enginetest.ErrBoom })
		f.e.Deliver(f.h, stand)
		f.r = f.rehearser(f.h)
		var ran []string
		f.now(func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			ran = append(ran, in.Delivery.Key)
			return effect(ctx, tx, in)
		})
		f.unchanged(func() {
			if report := f.rehearse(); report.Pass != 1 || !slices.Equal(ran, []string{"own"}) {
				f.Errorf("%+v; ran %q", report, ran)
			}
		})
		f.now(effect)
		f.e.Deliver(f.h, "own")
		f.unchanged(func() {
			if report := f.rehearse(); report.Skipped != 1 || !strings.Contains(report.Results[0].Why, "a message that is done") {
				f.Errorf("%+v", report)
			}
		})
	})
}

// The oldest letter, the newest, and some spread between are chosen.
func TestChoice(t *testing.T) {
	onEachDriver(t, enginetest.Keys("m", 30), func(f *fixture) {
		letters := f.Letters()
		newest, oldest := letters[0].LetterID, letters[len(letters)-1].LetterID
		report := f.rehearse()
		if n := len(report.Results); n != rehearsal.Usual || report.Of != 30 || report.Results[0].LetterID != oldest || report.Results[n-1].LetterID != newest {
			f.Errorf("%d of %d letters: %+v", n, report.Of, report.Results)
		}
		some, err := f.ask(rehearsal.Args{Letters: []int64{newest, oldest, newest}})
		if err != nil || some.Of != 2 || len(some.Results) != 2 {
			f.Errorf("%+v, %v", some, err)
		}
		ids, err := f.Store.Operations().Rehearsals.Letters(f.Context(), dlq.Filter{Consumer: enginetest.Consumer}, 2)
		if want := []int64{oldest, letters[1].LetterID, newest}; err != nil || !slices.Equal(ids, want) {
			f.Errorf("%v, want %v, %v", ids, want, err)
		}
	})
	for _, c := range []struct {
		n    int
		want string
	}{{1, "[9]"}, {2, "[0 9]"}, {3, "[0 4 9]"}, {10, "[0 1 2 3 4 5 6 7 8 9]"}, {11, "[0 1 2 3 4 5 6 7 8 9]"}} {
		if got := fmt.Sprint(rehearsal.Spread([]int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, c.n)); got != c.want {
			t.Errorf("%d: %s, want %s", c.n, got, c.want)
		}
	}
}

// A rehearsal tries what a redrive would send: the newest edit.
//
//evidence:edit
func TestEditedLetter(t *testing.T) {
	onEachDriver(t, []string{"a"}, func(f *fixture) {
		f.In(func(t *txn.Txn) error {
			_, err := f.Store.Operations().Corrections.Edit(f.Context(), t, dlq.Edit{LetterID: f.Letters()[0].LetterID, Rev: 1, Content: dlq.Content{Payload: []byte("edited")}})
			return err
		})
		f.now(func(_ context.Context, _ *headrace.Tx, in task.Input) error {
			if string(in.Delivery.Payload) != "edited" || in.Delivery.Fingerprint != "f" {
				return enginetest.ErrBoom
			}
			return nil
		})
		if r := f.rehearse(); r.Pass != 1 {
			f.Errorf("%+v", r)
		}
	})
}
