package storetest

import (
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var verdictTests = []test{
	{name: "the first verdict stands, a later one is dropped", run: recordFirst},
	{name: "a late verdict never overwrites done", run: recordAfterDone},
	{name: "one of two verdicts at once stands", run: recordAtOnce, needs: concurrentWriters},
	{name: "a stale message is done", run: recordStale},
	{name: "only a done message can be marked stale", run: markStale},
	{name: "a transition moves only from the expected state", run: transitionFrom},
	{name: "one of two transitions at once moves the row", run: transitionAtOnce, needs: concurrentWriters},
	{name: "transitions in opposite order never deadlock", run: transitionsCross, needs: concurrentWriters},
	{name: "attempts count from 1 over transactions", run: attemptsCount},
	{name: "the second of two attempts waits, and counts on", run: attemptsAtOnce, needs: concurrentWriters},
	{name: "a rolled-back attempt leaves no gap", run: attemptsRolledBack},
	{name: "attempts keep what was recorded", run: attemptsKept},
}

func (b *bundle) record(t *txn.Txn, key string, state inbox.State) bool {
	b.Helper()
	inserted, err := b.Store.Inbox().Record(b.ctx, t, inbox.Entry{ID: id(key), State: state, Fingerprint: "print of " + key})
	if err != nil {
		b.Fatalf("Record: %v", err)
	}
	return inserted
}

// park gives the message of key a first verdict, with the row that owns it.
func (b *bundle) park(key string, state inbox.State) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		if !b.record(t, key, state) {
			b.Fatalf("Record of %q: it has a row", key)
		}
		switch state {
		case inbox.Waiting:
			b.put(t, item(key))
		case inbox.Dead:
			b.insert(t, letter(key))
		case inbox.Discarded:
			b.giveUp(t, key)
		}
	})
}

// giveUp writes a letter of key that somebody discarded.
func (b *bundle) giveUp(t *txn.Txn, key string) {
	b.Helper()
	id := b.insert(t, letter(key))
	b.take(t, dlq.Filter{IDs: []int64{id}}, dlq.Discarded, 0, 1)
}

// move is Transition of messages in scope; it returns the keys that moved.
func (b *bundle) move(t *txn.Txn, from, to inbox.State, keys ...string) []string {
	b.Helper()
	ids := make([]inbox.ID, len(keys))
	for i, key := range keys {
		ids[i] = id(key)
	}
	moved, err := b.Store.Inbox().Transition(b.ctx, t, ids, from, to)
	if err != nil {
		b.Fatalf("Transition: %v", err)
	}
	var names []string
	for _, m := range moved {
		if m.Scope != scope {
			b.Errorf("Transition moved %+v", m)
		}
		names = append(names, m.Key)
	}
	return names
}

func recordFirst(b *bundle) {
	b.park("a", inbox.Waiting)
	b.in(func(t *txn.Txn) {
		if b.record(t, "a", inbox.Dead) {
			b.Error("a second verdict was taken")
		}
	})
	b.wantState("a", inbox.Waiting)
}

// DESIGN section 3, Verdicts: an upsert let a late waiting overwrite done, and the
// effect ran twice.
func recordAfterDone(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "a") })
	for _, state := range []inbox.State{inbox.Waiting, inbox.Dead, inbox.Done} {
		b.in(func(t *txn.Txn) {
			if b.record(t, "a", state) {
				b.Errorf("Record of %s after done was taken", state)
			}
		})
		b.wantState("a", inbox.Done)
	}
}

// recordAtOnce: the second verdict waits for the first, and sees how it ended.
func recordAtOnce(b *bundle) {
	for key, commits := range map[string]bool{"committed": true, "rolled back": false} {
		first, second := b.begin(), b.begin()
		b.record(first, key, inbox.Discarded)
		b.giveUp(first, key)
		inserted := make(chan bool, 1)
		var wait sync.WaitGroup
		wait.Go(func() {
			ok, err := b.Store.Inbox().Record(b.ctx, second, inbox.Entry{ID: id(key), State: inbox.Done, Fingerprint: "f"})
			if err != nil {
				b.Errorf("Record: %v", err)
			}
			inserted <- ok
		})
		b.awaitWaiters(1)
		if commits {
			b.commit(first)
		} else {
			first.Rollback()
		}
		if got := receive(b, inserted); got == commits {
			b.Errorf("%s: the second verdict was taken: %t", key, got)
		}
		wait.Wait()
		b.commit(second)
	}
	b.wantState("committed", inbox.Discarded)
	b.wantState("rolled back", inbox.Done)
}

func recordStale(b *bundle) {
	b.in(func(t *txn.Txn) {
		_, err := b.Store.Inbox().Record(b.ctx, t, inbox.Entry{ID: id("a"), State: inbox.Done, Stale: true, Fingerprint: "f"})
		b.must(err)
	})
	entries, err := b.Store.Inbox().Find(b.ctx, "a")
	b.must(err)
	if len(entries) != 1 || !entries[0].Stale || entries[0].State != inbox.Done {
		b.Errorf("rows of a stale message: %+v", entries)
	}
}

func markStale(b *bundle) {
	b.park("waits", inbox.Waiting)
	b.in(func(t *txn.Txn) {
		b.win(t, "a", "fresh")
		for _, key := range []string{"a", "waits", "never seen"} {
			b.must(b.Store.Inbox().MarkStale(b.ctx, t, id(key)))
		}
	})
	for key, want := range map[string]bool{"a": true, "fresh": false, "waits": false} {
		entries, err := b.Store.Inbox().Find(b.ctx, key)
		b.must(err)
		if len(entries) != 1 || entries[0].Stale != want {
			b.Errorf("rows of %q: %+v, want stale %t", key, entries, want)
		}
	}
	b.wantState("a", inbox.Done)
	b.wantState("waits", inbox.Waiting)
	b.wantState("never seen", "")
}

func transitionFrom(b *bundle) {
	b.park("waits", inbox.Waiting)
	b.park("gone", inbox.Discarded)
	b.in(func(t *txn.Txn) { b.win(t, "done") })
	b.in(func(t *txn.Txn) {
		got := b.move(t, inbox.Waiting, inbox.Done, "never seen", "done", "waits", "gone")
		if diff := cmp.Diff([]string{"waits"}, got); diff != "" {
			b.Errorf("moved (-want +got):\n%s", diff)
		}
		b.remove(t, "waits")
		if got := b.move(t, inbox.Waiting, inbox.Dead, "waits"); len(got) != 0 {
			b.Errorf("moved twice: %v", got)
		}
		if got := b.move(t, inbox.Waiting, inbox.Done); len(got) != 0 {
			b.Errorf("none asked for, moved %v", got)
		}
	})
	b.wantState("waits", inbox.Done)
	b.wantState("gone", inbox.Discarded)
	b.wantState("never seen", "")
}

// transitionAtOnce: of two that move one row, exactly one does, before any effect.
func transitionAtOnce(b *bundle) {
	b.park("a", inbox.Waiting)
	first, second := b.begin(), b.begin()
	b.move(first, inbox.Waiting, inbox.Done, "a")
	b.remove(first, "a")
	moved := make(chan int, 1)
	var wait sync.WaitGroup
	wait.Go(func() {
		ids, err := b.Store.Inbox().Transition(b.ctx, second, []inbox.ID{id("a")}, inbox.Waiting, inbox.Dead)
		if err != nil {
			b.Errorf("Transition: %v", err)
		}
		moved <- len(ids)
	})
	b.awaitWaiters(1)
	b.commit(first)
	if n := receive(b, moved); n != 0 {
		b.Errorf("the second transition moved %d rows, want none", n)
	}
	wait.Wait()
	b.commit(second)
	b.wantState("a", inbox.Done)
}

func transitionsCross(b *bundle) {
	ids := []inbox.ID{id("a"), id("m"), id("z")}
	b.in(func(t *txn.Txn) { b.win(t, "a", "m", "z") })
	b.crossed(func(t *txn.Txn) { b.must(b.Store.Inbox().MarkStale(b.ctx, t, id("m"))) }, func(t *txn.Txn, backward bool) error {
		mine := slices.Clone(ids)
		if backward {
			slices.Reverse(mine)
		}
		_, err := b.Store.Inbox().Transition(b.ctx, t, mine, inbox.Done, inbox.Discarded)
		return err
	})
}

func attempt(key string) inbox.Attempt {
	return inbox.Attempt{
		ID: id(key), Class: "transient", Error: "no route to \x00 host \u00e9", ErrorType: "*net.OpError",
		Duration: 1234 * time.Microsecond, Host: "host-1", Build: "v1.2.3",
		Trace: headrace.TraceContext{Parent: "00-trace-01", State: "a=b"},
	}
}

func (b *bundle) fail(t *txn.Txn, key string) int {
	b.Helper()
	n, err := b.Store.Inbox().AddAttempt(b.ctx, t, attempt(key))
	if err != nil {
		b.Fatalf("AddAttempt: %v", err)
	}
	return n
}

func (b *bundle) attempts(key string) []inbox.Attempt {
	b.Helper()
	list, err := b.Store.Inbox().Attempts(b.ctx, id(key))
	b.must(err)
	return list
}

func attemptsCount(b *bundle) {
	b.in(func(t *txn.Txn) {
		for want := 1; want <= 2; want++ {
			if n := b.fail(t, "a"); n != want {
				b.Errorf("attempt has number %d, want %d", n, want)
			}
		}
		if n := b.fail(t, "b"); n != 1 {
			b.Errorf("first attempt of another message has number %d", n)
		}
	})
	b.in(func(t *txn.Txn) {
		if n := b.fail(t, "a"); n != 3 {
			b.Errorf("third attempt, in a later transaction, has number %d", n)
		}
	})
	for i, a := range b.attempts("a") {
		if a.N != i+1 {
			b.Errorf("attempt %d in the list has number %d", i, a.N)
		}
	}
	if got := len(b.attempts("a")); got != 3 {
		b.Errorf("%d attempts, want 3", got)
	}
	b.in(func(t *txn.Txn) { b.win(t, "a", "b") })
}

func attemptsAtOnce(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "committed", "rolled back") })
	for key, want := range map[string]int{"committed": 2, "rolled back": 1} {
		first, second := b.begin(), b.begin()
		b.fail(first, key)
		number := make(chan int, 1)
		var wait sync.WaitGroup
		wait.Go(func() {
			n, err := b.Store.Inbox().AddAttempt(b.ctx, second, attempt(key))
			if err != nil {
				b.Errorf("AddAttempt: %v", err)
			}
			number <- n
		})
		b.awaitWaiters(1)
		if key == "committed" {
			b.commit(first)
		} else {
			first.Rollback()
		}
		if n := receive(b, number); n != want {
			b.Errorf("%s: the second attempt has number %d, want %d", key, n, want)
		}
		wait.Wait()
		b.commit(second)
	}
}

func attemptsRolledBack(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "a"); b.fail(t, "a") })
	t := b.begin()
	b.fail(t, "a")
	t.Rollback()
	b.in(func(t *txn.Txn) {
		if n := b.fail(t, "a"); n != 2 {
			b.Errorf("attempt after a rolled-back one has number %d, want 2", n)
		}
	})
}

func attemptsKept(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "a"); b.fail(t, "a") })
	got := b.attempts("a")
	want := attempt("a")
	want.N = 1
	want.Error = `no route to \x00 host é` // for people, so cleaned
	if diff := cmp.Diff([]inbox.Attempt{want}, got, cmpopts.IgnoreFields(inbox.Attempt{}, "At")); diff != "" {
		b.Errorf("attempts (-want +got):\n%s", diff)
	}
	if age := time.Since(got[0].At); age < -time.Hour || age > time.Hour {
		b.Errorf("attempt recorded at %s", got[0].At)
	}
	earlier := attempt("a")
	earlier.Ago = 24 * time.Hour
	b.in(func(t *txn.Txn) {
		_, err := b.Store.Inbox().AddAttempt(b.ctx, t, earlier)
		b.must(err)
	})
	got = b.attempts("a")
	if apart := got[0].At.Sub(got[1].At); apart < 23*time.Hour || apart > 25*time.Hour {
		b.Errorf("an attempt of a day ago is recorded %s before the one of now", apart)
	}
}
