package watching

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

// A sink that is down for an hour misses nothing that is still true: what began in that time is sent
// when it is back, what got worse is sent as it is now, what ended is sent as ended if its beginning
// was, and not at all otherwise.
//
//evidence:alert
func TestSinkIsDownForAnHour(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{PerMinute: 100})
		at := func(minute int, f facts) {
			t.Helper()
			f.now, f.consumer = noon.Add(time.Duration(minute)*time.Minute), "c"
			p.see(f)
		}
		one, two, three := failing("00", noon), failing("02", noon.Add(time.Minute)), failing("03", noon.Add(2*time.Minute))
		parked := map[ledger.State]int64{ledger.Parked: 1}
		if at(0, facts{groups: []groups.Group{one}, steps: parked}); len(p.told) != 2 {
			t.Fatal(said(p.told))
		}
		p.fail = &alerts.SendError{Reason: "it is down"}
		one.State, one.Open = groups.Escalating, 500
		for minute := 1; minute <= 60; minute++ {
			now := facts{groups: []groups.Group{one, three}}
			if minute < 30 {
				now.groups = append(now.groups, two) // it is over before the sink is back
			}
			at(minute, now)
		}
		p.fail = nil
		got := map[string]bool{}
		for minute := 61; minute < 70; minute++ { // it is tried again within five minutes
			at(minute, facts{groups: []groups.Group{one, three}})
			for _, a := range p.told {
				got[fmt.Sprintf("%s %s %s %s", a.Kind, a.ErrorFingerprint, a.Phase, a.Severity)] = true
			}
		}
		for _, want := range []string{"group_failing 00 again error", "group_failing 03 firing warning", "step_parked  resolved error"} {
			if !got[want] {
				t.Errorf("no %q in %v", want, got)
			}
		}
		if len(got) != 3 {
			t.Errorf("%v", got)
		}
	})
}

// killed is a store of a process that is killed after its sink has taken an alert.
type killed struct{ condition.Store }

func (killed) Put(context.Context, string, string, condition.Change) (bool, error) {
	return false, errGone
}

func (killed) Release(context.Context, string, string, bool) error { return errGone }

// A process is killed while it sends: the next one sends the same alert again, with the same ID, as
// soon as its lease is over, and only once.
//
//evidence:alert
func TestKilledWhileItFires(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		ctx := t.Context()
		a, b := newProcess(t, st, "a", "", alerts.Options{}), newProcess(t, st, "b", "", alerts.Options{})
		bad := facts{now: noon, consumer: "c", steps: map[ledger.State]int64{ledger.Parked: 1}}
		if ok, err := a.store().Put(ctx, "", "", conclude(a.Watch, &bad, judge(&bad))); err != nil || !ok {
			t.Fatal(ok, err)
		}
		table := a.table
		a.table = killed{table}
		if err := a.work(ctx, "c"); err == nil || len(a.told) != 1 {
			t.Fatalf("%v, told %s", err, said(a.told))
		}
		if err := b.work(ctx, "c"); err != nil || len(b.told) > 0 {
			t.Fatalf("while the dead one has the lease: %v, %s", err, said(b.told))
		}
		if err := table.Release(ctx, "send:c:sink", "a", false); err != nil { // as when its time is over
			t.Fatal(err)
		}
		for range 2 {
			if err := b.work(ctx, "c"); err != nil {
				t.Fatal(err)
			}
		}
		if len(b.told) != 1 || b.told[0].ID != a.told[0].ID || b.told[0].Key != a.told[0].Key {
			t.Errorf("%+v, then %+v", a.told, b.told)
		}
	})
}

// A process that starts does not send that its own consumer has no process. The table says so until the next
// look.
//
//evidence:alert
func TestConsumerIsBack(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{})
		f := facts{now: noon, consumer: "c"}
		var found []condition.Finding
		for _, consumer := range []string{"c", "d"} {
			found = append(found, condition.Finding{Alert: alerts.Alert{Kind: alerts.ConsumerAbsent, Severity: alerts.Critical, Consumer: consumer, Text: "no process"}})
		}
		if ok, err := p.store().Put(t.Context(), "", "", conclude(p.Watch, &f, found)); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if err := p.work(t.Context(), "c"); err != nil || len(p.told) != 1 || p.told[0].Consumer != "d" {
			t.Errorf("%v, told %+v", err, p.told)
		}
	})
}

// Two databases of one name and environment have incidents of their own.
func TestTwoDatabasesOfOneName(t *testing.T) {
	keys := make(map[string]bool)
	for range 2 {
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		a := newProcess(t, st, "p", "production", alerts.Options{}).see(facts{now: noon, consumer: "c", groups: []groups.Group{failing("f00", noon)}})[0]
		if a.Database != "test.db" || a.Environment != "production" {
			t.Errorf("%+v", a)
		}
		keys[a.Key] = true
	}
	if len(keys) != 2 {
		t.Errorf("%v", keys)
	}
}
