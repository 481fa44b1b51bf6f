package alerting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

// desk is a database with alerts in it.
type desk struct {
	*testing.T
	st store.Store
}

func onEachStore(t *testing.T, f func(d *desk)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		f(&desk{t, st})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgtest.New(t)
		st, err := postgres.New(t.Context(), pgtest.OpenDB(t, pgstore.Driver(t), dsn), postgres.Options{Schema: schema, Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		f(&desk{t, st})
	})
}

func letterOf(print string, id int) alerts.Alert {
	return alerts.Alert{Kind: alerts.DeadLetter, Consumer: "c", Handler: "h", Topic: "t", Class: "permanent", ErrorFingerprint: print, LetterID: int64(id)}
}

func (d *desk) append(list ...alerts.Alert) {
	d.Helper()
	t, err := d.st.Begin(d.Context())
	if err == nil {
		err = errors.Join(d.st.Operations().Alerts.Append(d.Context(), t, list), d.st.Commit(d.Context(), t, nil))
	}
	if err != nil {
		d.Fatal(err)
	}
}

// waiting reports whether alerts wait for owner.
func (d *desk) waiting(owner string) bool {
	d.Helper()
	yes, err := d.st.Operations().Alerts.Waiting(d.Context(), "c", owner)
	if err != nil {
		d.Fatal(err)
	}
	return yes
}

// start runs a quick reader of "c" until the end of the test.
func (d *desk) start(st store.Store, hook alerts.Hook, change func(*Reader)) *Reader {
	d.Helper()
	r := newReader(st, NewCaller(hook, slog.New(slog.DiscardHandler)), alerts.Options{Quiet: time.Hour}, "c")
	r.poll, r.gap = 10*time.Millisecond, time.Millisecond
	if change != nil {
		change(r)
	}
	go r.run()
	d.Cleanup(func() { d.shut(r) })
	return r
}

func (d *desk) shut(r *Reader) {
	d.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := r.Close(ctx); err != nil {
		d.Errorf("close: %v", err)
	}
}

// given is a hook that hands over what it is given.
func given() (alerts.Hook, <-chan alerts.Alert) {
	c := make(chan alerts.Alert, 10_000)
	return func(_ context.Context, a alerts.Alert) error { c <- a; return nil }, c
}

func (d *desk) next(c <-chan alerts.Alert) alerts.Alert {
	d.Helper()
	select {
	case a := <-c:
		return a
	case <-time.After(30 * time.Second):
		d.Fatal("no alert came")
		return alerts.Alert{}
	}
}

// INVARIANT 19: a storm makes a handful of calls, its rows are gone, and the counts of
// the calls add up.
func TestStorm(t *testing.T) {
	onEachStore(t, func(d *desk) {
		hook, told := given()
		const total, reasons = 20_000, 200
		first := letterOf("first", 1)
		d.append(first)
		r := d.start(d.st, hook, nil)
		if a := d.next(told); a.Kind != alerts.FirstDeadLetter || a.Count != 1 || a.LetterID != 1 {
			d.Errorf("first %+v", a)
		}
		for n := 0; n < total; n += 1000 {
			list := make([]alerts.Alert, 1000)
			for i := range list {
				list[i] = letterOf(fmt.Sprint(i%reasons), n+i)
			}
			d.append(list...)
			r.Wake()
		}
		d.shut(r)
		hook2, told2 := given()
		d.shut(d.start(d.st, hook2, nil)) // nothing is left for another but what is quiet
		calls, count := len(told)+len(told2), int64(0)
		for len(told) > 0 {
			count += (<-told).Count
		}
		for len(told2) > 0 {
			count += (<-told2).Count
		}
		if calls > 10 || calls == 0 || count > total {
			d.Errorf("%d calls of %d alerts", calls, count)
		}
		if waits := d.countWaiting(); waits+count != total {
			d.Errorf("%d alerts were sent and %d wait, of %d", count, waits, total)
		}
	})
}

// countWaiting counts what is kept for later; -1 while rows are not counted yet.
func (d *desk) countWaiting() int64 {
	d.Helper()
	t, err := d.st.Begin(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	defer t.Rollback()
	var waiting, rows int64
	err = errors.Join(
		t.QueryRowContext(d.Context(), "SELECT COALESCE(sum(waiting), 0) FROM headrace_alert_groups").Scan(&waiting),
		t.QueryRowContext(d.Context(), "SELECT count(*) FROM headrace_alerts").Scan(&rows))
	if err != nil {
		d.Error(err)
	}
	if rows > 0 {
		return -1
	}
	return waiting
}

// A hook that is down for a while: the alert is kept, counts on, and is sent under the
// same id.
func TestHookDown(t *testing.T) {
	onEachStore(t, func(d *desk) {
		var down atomic.Bool
		down.Store(true)
		pass, told := given()
		var ids sync.Map
		tried := make(chan struct{}, 10_000)
		r := d.start(d.st, func(ctx context.Context, a alerts.Alert) error {
			ids.Store(a.ID, true)
			tried <- struct{}{}
			if down.Load() {
				panic("down")
			}
			return pass(ctx, a)
		}, func(r *Reader) { r.retry = func(int, error) time.Duration { return time.Millisecond } })
		d.append(letterOf("x", 1))
		r.Wake()
		for range 3 {
			<-tried
		}
		d.append(letterOf("x", 2), letterOf("x", 3))
		<-tried
		d.eventually(func() bool { return d.countWaiting() == 3 })
		down.Store(false)
		a := d.next(told)
		n := 0
		ids.Range(func(any, any) bool { n++; return true })
		if a.Count != 3 || a.Kind != alerts.FirstDeadLetter || a.LetterID != 3 || n != 1 || a.At.Before(a.Since) {
			d.Errorf("%+v under %d ids", a, n)
		}
	})
}

func (d *desk) eventually(cond func() bool) {
	d.Helper()
	for deadline := time.Now().Add(30 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.Fatal("did not come")
		}
	}
}

// crashing is a store that dies between the hook and what is recorded of it: a fake,
// since a real database cannot be made to fail just there.
type crashing struct{ store.Store }

func (c crashing) Operations() store.Operations {
	o := c.Store.Operations()
	o.Alerts = unsettled{o.Alerts}
	return o
}

type unsettled struct{ alerts.Store }

var errCrash = errors.New("crash")

func (unsettled) Settle(context.Context, *txn.Txn, alerts.Settlement) (bool, error) {
	return false, errCrash
}
func (unsettled) Release(context.Context, *txn.Txn, string, string) error { return errCrash }

// DESIGN §3 Alerts, at least once: where a process dies between the hook and the
// record, another sends the alert again, under the same id, once the lease has ended.
//
//evidence:alert
func TestCrashAfterTheHook(t *testing.T) {
	onEachStore(t, func(d *desk) {
		d.append(letterOf("x", 1))
		hook, told := given()
		d.start(crashing{d.st}, hook, func(r *Reader) { r.lease, r.poll = time.Second, time.Hour })
		first := d.next(told)
		hook, told = given()
		d.start(d.st, hook, nil)
		if again := d.next(told); again.ID != first.ID || again.Count != 1 {
			d.Errorf("sent %+v, and again %+v", first, again)
		}
	})
}

// Two processes: each alert is sent by one of them, and a process whose hook hangs
// loses the lease to the other.
func TestTwoProcesses(t *testing.T) {
	onEachStore(t, func(d *desk) {
		hook, told := given()
		release := make(chan struct{})
		hangs := func(context.Context, alerts.Alert) error { <-release; return nil }
		a, b := d.start(d.st, hook, nil), d.start(d.st, hook, nil)
		for n := range 8 {
			d.append(letterOf(fmt.Sprint(n), n))
			a.Wake()
			b.Wake()
		}
		seen := make(map[string]bool)
		for range 8 {
			seen[d.next(told).ErrorFingerprint] = true
		}
		d.shut(a)
		d.shut(b)
		if len(seen) != 8 || len(told) != 0 {
			d.Errorf("%d of 8, and %d twice", len(seen), len(told))
		}
		c := d.start(d.st, hangs, func(r *Reader) { r.lease = time.Second })
		d.append(letterOf("hang", 9))
		d.eventually(func() bool { return !d.waiting("other") }) // c has the lease
		d.start(d.st, hook, nil)
		if got := d.next(told); got.ErrorFingerprint != "hang" {
			d.Errorf("got %+v", got)
		}
		close(release)
		d.shut(c)
	})
}

// counted counts the transactions that are begun.
type counted struct {
	store.Store
	begun atomic.Int64
}

func (c *counted) Begin(ctx context.Context) (*txn.Txn, error) {
	c.begun.Add(1)
	return c.Store.Begin(ctx)
}

// While nothing waits a reader only reads, and while the hook runs it holds no
// transaction: on SQLite no other transaction could write meanwhile.
//
//evidence:hook
func TestHookRunsWithoutTransaction(t *testing.T) {
	onEachStore(t, func(d *desk) {
		st := &counted{Store: d.st}
		wrote := make(chan error, 1)
		r := d.start(st, func(ctx context.Context, _ alerts.Alert) error {
			t, err := d.st.Begin(ctx)
			if err == nil {
				err = errors.Join(d.st.Operations().Alerts.Append(ctx, t, []alerts.Alert{letterOf("y", 2)}), d.st.Commit(ctx, t, nil))
			}
			select {
			case wrote <- err:
			default:
			}
			return err
		}, nil)
		looks := r.poll
		time.Sleep(5 * looks) // some looks at nothing
		if n := st.begun.Load(); n != 0 {
			d.Errorf("%d transactions while nothing waits", n)
		}
		d.append(letterOf("x", 1))
		if err := <-wrote; err != nil {
			d.Errorf("write beside the hook: %v", err)
		}
	})
}

// The end of a consumer sends what waits.
func TestReaderCloseSends(t *testing.T) {
	onEachStore(t, func(d *desk) {
		hook, told := given()
		r := d.start(d.st, hook, func(r *Reader) { r.poll = time.Hour })
		d.append(letterOf("x", 1), alerts.Alert{Kind: alerts.RowParked, Topic: "t"})
		d.shut(r)
		d.shut(r)
		if len(told) != 1 || d.waiting("other") {
			d.Errorf("%d alerts were sent", len(told))
		}
		relay := newReader(d.st, NewCaller(hook, nil), alerts.Options{}, "")
		go relay.run()
		d.shut(relay)
		<-told
		if a := d.next(told); a.Kind != alerts.RowParked || a.Topic != "t" || a.Consumer != "" {
			d.Errorf("got %+v", a)
		}
	})
}
