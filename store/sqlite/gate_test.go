package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// TestTurnsAreInOrder: writers of a process get the lock in the order in which they
// asked, with transactions of the user's own among them.
//
//evidence:sqlite-turns
func TestTurnsAreInOrder(t *testing.T) {
	s, path := setup(t)
	other := openAt(t, path, Options{}) // a second store on the file shares the gate
	first := begin(t, s)
	var mu sync.Mutex
	var got []int
	var writers sync.WaitGroup
	for n := range 9 {
		waiting := waiters(s.gate)
		writers.Go(func() {
			end := func() error { return nil }
			switch n % 3 {
			case 0, 1:
				st := []*Store{s, other}[n%3]
				tx, err := st.Begin(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				end = func() error { return st.Commit(t.Context(), tx, nil) }
			case 2:
				tx, err := s.DB().BeginTx(t.Context(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				end = tx.Commit
			}
			mu.Lock()
			got = append(got, n)
			mu.Unlock()
			if err := end(); err != nil {
				t.Error(err)
			}
		})
		until(t, func() bool { return waiters(s.gate) > waiting })
		time.Sleep(time.Millisecond) // from the count into the queue
	}
	first.Rollback()
	writers.Wait()
	if !slices.IsSorted(got) || len(got) != 9 {
		t.Errorf("turns in the order %v", got)
	}
}

// waiters is how many wait for the turn.
func waiters(g *gate) int { return int(g.waiting.Load()) }

// until asks done until it says yes. It is for what shows only in a count.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); !done(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

// TestBeginGivesUp: the wait for the turn ends with its context, and what was
// waited for is not lost.
func TestBeginGivesUp(t *testing.T) {
	s, _ := setup(t)
	first := begin(t, s)
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Begin(short); txn.Classify(err) != txn.LockTimeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Begin past its deadline: %v, class %s", err, txn.Classify(err))
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Begin(cancelled); !errors.Is(err, context.Canceled) || txn.Classify(err) != txn.Other {
		t.Errorf("Begin when cancelled: %v, class %s", err, txn.Classify(err))
	}
	if _, err := s.DB().BeginTx(short, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("BeginTx past its deadline: %v", err)
	}
	first.Rollback()
	write(t, s, "a")
}

// TestUserWaitIsBounded: a handler that begins a second transaction waits for
// itself; without a deadline it is told after BusyTimeout.
func TestUserWaitIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	s := openAt(t, path, Options{Migrate: true, BusyTimeout: 500 * time.Millisecond})
	tx := begin(t, s)
	defer tx.Rollback()
	const said = "which a transaction of this process holds (a handler that writes through Store.DB, or another pool, waits for its own transaction: use its Tx)"
	if _, err := s.DB().BeginTx(context.Background(), nil); txn.Classify(err) != txn.LockTimeout || !strings.Contains(err.Error(), said) {
		t.Errorf("BeginTx inside a transaction: %v", err)
	}
	if _, err := s.DB().ExecContext(context.Background(), "CREATE TABLE x (a)"); txn.Classify(err) != txn.LockTimeout || !strings.Contains(err.Error(), said) {
		t.Errorf("a write outside of a transaction: %v", err)
	}
	reading, err := s.DB().BeginTx(t.Context(), readOnly)
	if err != nil {
		t.Fatalf("a reading transaction has to wait: %v", err)
	}
	if err := reading.Commit(); err != nil {
		t.Error(err)
	}
}

// TestLockOfSomebodyElse: a lock that did not come through the gate is waited for as
// one of another process, and who gave up has left the turn.
func TestLockOfSomebodyElse(t *testing.T) {
	s, _ := setup(t)
	c := conn1(t, s)
	if _, err := c.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	for name, begin := range map[string]func(context.Context) error{
		"Begin": func(ctx context.Context) error {
			_, err := s.Begin(ctx)
			return err
		},
		"BeginTx": func(ctx context.Context) error {
			_, err := s.DB().BeginTx(ctx, nil)
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		if err := begin(ctx); txn.Classify(err) != txn.LockTimeout && !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "of this process") {
			t.Errorf("%s: %v", name, err)
		}
		if len(s.gate.turn) != 0 {
			t.Fatalf("%s: the turn is still taken", name)
		}
	}
	if _, err := c.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	write(t, s, "a")
}

// slow is a connection on a machine that is too slow for a slice.
type slow struct{ native }

func (s slow) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := s.native.ExecContext(context.WithoutCancel(ctx), query, args)
	if query == "BEGIN IMMEDIATE" {
		<-ctx.Done()
		return nil, ctx.Err() // as the driver does, though it worked
	}
	return result, err
}

// TestSlowMachine: a lock that was taken just as the slice ended is taken.
func TestSlowMachine(t *testing.T) {
	s, _ := setup(t)
	write(t, s, "warm") // there is a connection
	c, err := s.work.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Raw(func(dc any) error {
		slowed := dc.(*conn)
		slowed.native = slow{slowed.native}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tx.Rollback(), c.Close()); err != nil {
		t.Error(err)
	}
	write(t, s, "a")
}

// TestOpenLocked: SQLite does not wait for busy_timeout when it changes a file to WAL
// mode beside a writer, and processes that start together on a new file are that to
// each other.
func TestOpenLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	for _, query := range []string{"CREATE TABLE x (a)", "BEGIN IMMEDIATE"} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	opened := make(chan error, 1)
	go func() {
		s, err := Open(t.Context(), path, Options{Migrate: true})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("Open did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if _, err := db.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, opened); err != nil {
		t.Errorf("Open when the lock was gone: %v", err)
	}
}

// TestGap: a process that writes all the time leaves a gap after each burst, and
// one that does not pays nothing.
//
//evidence:sqlite-turns
func TestGap(t *testing.T) {
	g := &gate{turn: make(chan struct{}, 1)}
	var gaps int
	var last time.Time
	start := time.Now()
	for time.Since(start) < 8*burst {
		turn, err := g.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !last.IsZero() && time.Since(last) >= gap {
			gaps++
		}
		time.Sleep(100 * time.Microsecond) // the transaction
		last = time.Now()
		turn.leave(true)
	}
	if gaps < 4 {
		t.Errorf("%d gaps in %s of writing, want one after each %s", gaps, 8*burst, burst)
	}

	g = &gate{turn: make(chan struct{}, 1), since: time.Now().Add(-time.Hour)}
	for range 3 {
		g.freed = time.Now().Add(-gap)
		before := time.Now()
		turn, err := g.enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if since := time.Since(before); since > gap/2 {
			t.Errorf("a writer after a natural gap waited %s", since)
		}
		turn.leave(true)
	}
}

// TestGapEnds: a context that ends in the gap leaves the turn free.
func TestGapEnds(t *testing.T) {
	g := &gate{turn: make(chan struct{}, 1), freed: time.Now().Add(time.Hour)} // a long gap
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := g.enter(ctx); txn.Classify(err) != txn.LockTimeout {
		t.Errorf("enter: %v", err)
	}
	if len(g.turn) != 0 {
		t.Error("the turn is still taken")
	}
}

// TestOneGateForAFile: links lead to the same gate, and another file to another.
func TestOneGateForAFile(t *testing.T) {
	s, path := setup(t)
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if linked := openAt(t, link, Options{}); linked.gate != s.gate {
		t.Error("a link leads to another gate")
	}
	if other, _ := setup(t); other.gate == s.gate {
		t.Error("another file has the same gate")
	}
}
