package breaker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faulty is a store that answers a ping and fails to begin.
type faulty struct {
	store.Store
	ping, begin error
}

func (f *faulty) Ping(ctx context.Context) error {
	if f.ping != nil {
		return f.ping
	}
	return f.Store.Ping(ctx)
}

func (f *faulty) Begin(ctx context.Context) (*txn.Txn, error) {
	if f.begin != nil {
		return nil, f.begin
	}
	return f.Store.Begin(ctx)
}

type stateError string

func (e stateError) Error() string    { return "refused" }
func (e stateError) SQLState() string { return string(e) }

// A store that answers a ping and cannot serve does not serve; one that lost against
// another transaction does.
func TestAskAStoreThatCannotServe(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, st store.Store) {
		for state, serves := range map[stateError]bool{
			"53100": false, "53300": false, "57P03": false, "25006": false, "08006": false, "42501": false, "40001": true, "40P01": true, "55P03": true,
		} {
			err := breaker.Ask(t.Context(), &faulty{Store: st, begin: state}, breaker.Claims)
			if (err == nil) != serves {
				t.Errorf("%s: %v", string(state), err)
			}
			if err != nil && (!errors.Is(err, state) || !strings.HasPrefix(err.Error(), "probe: ")) {
				t.Errorf("%s: %v", string(state), err)
			}
		}
		down := errors.New("down")
		if err := breaker.Ask(t.Context(), &faulty{Store: st, ping: down}, breaker.Claims); !errors.Is(err, down) {
			t.Error(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := breaker.Ask(ended, st, breaker.Claims); err == nil {
			t.Error("asked with a context that had ended")
		}
	})
}

// Each probe is made of the statements that it is named after: a role may lack a grant for
// the others.
func TestProbes(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, st store.Store) {
		exec := func(query string) {
			t.Helper()
			tx, err := st.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
			if err := st.Commit(t.Context(), tx, nil); err != nil {
				t.Fatal(err)
			}
		}
		probes := []breaker.Probe{breaker.Claims, breaker.Events, breaker.Failures}
		for table, fails := range map[string][]bool{
			"headrace_inbox": {true, true, true}, "headrace_backlog": {true, true, true},
			"headrace_outbox": {false, true, false}, "headrace_attempts": {false, false, true}, "headrace_dead_letters": {false, false, true},
		} {
			exec("ALTER TABLE " + table + " RENAME TO away")
			for i, p := range probes {
				if err := breaker.Ask(t.Context(), st, p); (err != nil) != fails[i] {
					t.Errorf("without %s, probe %d: %v", table, p, err)
				}
			}
			exec("ALTER TABLE away RENAME TO " + table)
		}
		for _, p := range probes {
			if err := breaker.Ask(t.Context(), st, p); err != nil {
				t.Errorf("with all tables, probe %d: %v", p, err)
			}
		}
	})
}

// The pause grows from try to try, up to five seconds, and begins anew after a success.
func TestPauses(t *testing.T) {
	t.Parallel()
	b := breaker.New(nil)
	down := errors.New("down")
	var pauses []time.Duration
	for range 20 {
		pauses = append(pauses, b.Fail(down))
	}
	for i := range pauses[1:] {
		if pauses[i+1] < pauses[i] {
			t.Errorf("pauses %v", pauses)
		}
	}
	if pauses[0] != 50*time.Millisecond || pauses[2] <= pauses[1] || pauses[19] != 5*time.Second {
		t.Errorf("pauses %v", pauses)
	}
	b.OK()
	if p := b.Fail(down); p != pauses[0] {
		t.Errorf("after a success %s", p)
	}
}

// Each change is told once, and the latest cause is shown.
func TestChanges(t *testing.T) {
	t.Parallel()
	var told []error
	b := breaker.New(func(err error) { told = append(told, err) })
	first, second := errors.New("first"), errors.New("second")
	before := time.Now()
	if b.OKSince(before) {
		t.Error("nothing has succeeded")
	}
	b.OK()
	if len(told) != 0 || !b.OKSince(before) || b.OKSince(time.Now()) {
		t.Errorf("told %v", told)
	}
	b.Fail(first)
	b.Fail(second)
	if b.Err() != second {
		t.Errorf("%v", b.Err())
	}
	b.OK()
	b.OK()
	b.Fail(second)
	if len(told) != 3 || told[0] != first || told[1] != nil || told[2] != second {
		t.Errorf("told %v", told)
	}
}

// Who waits is woken by the success that comes, however it falls between: no wake-up is
// lost. A wait ends with its context too.
func TestWait(t *testing.T) {
	t.Parallel()
	b := breaker.New(nil)
	down := errors.New("down")
	for range 200 {
		b.Fail(down)
		var waiting sync.WaitGroup
		for range 4 {
			waiting.Go(func() {
				if !b.Wait(t.Context()) {
					t.Error("not woken")
				}
			})
		}
		waiting.Go(b.OK)
		waiting.Wait()
	}
	b.Fail(down)
	synctest.Test(t, func(t *testing.T) { // who waits already is woken after more failures too
		b := breaker.New(nil)
		b.Fail(down)
		done := make(chan bool, 1)
		go func() { done <- b.Wait(t.Context()) }()
		synctest.Wait()
		b.Fail(down)
		b.OK()
		synctest.Wait()
		if len(done) != 1 {
			t.Error("not woken")
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if b.Wait(ctx) {
		t.Error("the circuit is open")
	}
}
