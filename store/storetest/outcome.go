package storetest

import (
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var outcomeTests = []test{
	{name: "the first claim counts, a later one is lost whatever it is for", run: recordFirst},
	{name: "a late claim for the backlog never overwrites done", run: recordAfterDone},
	{name: "of two claims at once, for the backlog and not, one counts", run: recordAtOnce, needs: concurrentWriters},
	{name: "done messages can be marked stale, and no others", run: markStale},
	{name: "a transition moves only from the expected state", run: transitionFrom},
	{name: "one of two transitions at once moves the row", run: transitionAtOnce, needs: concurrentWriters},
	{name: "transitions in opposite order never deadlock", run: transitionsCross, needs: concurrentWriters},
}

// record gives the message of key a first state, and reports whether it did.
func (b *bundle) record(t *txn.Txn, key string, state inbox.State) bool {
	b.Helper()
	c := b.request(t, inbox.ClaimRequest{Claims: claims(key), Waiting: state == inbox.Waiting})[0]
	if c.Result != inbox.Won {
		return false
	}
	if state != inbox.Waiting && state != inbox.Done {
		b.move(t, inbox.Done, state, key)
	}
	return true
}

// park gives the message of key a first state, with the row that owns it.
func (b *bundle) park(key string, state inbox.State) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		if !b.record(t, key, state) {
			b.Fatalf("%q has a row", key)
		}
		switch state {
		case inbox.Waiting:
			b.put(t, item(key))
		case inbox.Dead:
			b.insert(t, letter(key))
		case inbox.Discarded:
			b.discarded(t, key)
		}
	})
}

// discarded writes a letter of key that an operator discarded.
func (b *bundle) discarded(t *txn.Txn, key string) {
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

//evidence:first-record
func recordFirst(b *bundle) {
	b.park("a", inbox.Waiting)
	b.in(func(t *txn.Txn) {
		if b.record(t, "a", inbox.Dead) {
			b.Error("a second claim was won")
		}
	})
	b.wantState("a", inbox.Waiting)
}

// An upsert let a late waiting overwrite done, and the effect ran twice.
//
//evidence:first-record
func recordAfterDone(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "a") })
	for _, state := range []inbox.State{inbox.Waiting, inbox.Dead, inbox.Done} {
		b.in(func(t *txn.Txn) {
			if b.record(t, "a", state) {
				b.Errorf("a claim for %s after done was won", state)
			}
		})
		b.wantState("a", inbox.Done)
	}
}

// recordAtOnce: the second claim waits for the first, and sees how it ended.
func recordAtOnce(b *bundle) {
	for key, commits := range map[string]bool{"committed": true, "rolled back": false} {
		first, second := b.begin(), b.begin()
		b.record(first, key, inbox.Waiting)
		b.put(first, item(key))
		answer := b.claimLater(second, inbox.ClaimRequest{Claims: claims(key)})
		b.awaitWaiters(1)
		if commits {
			b.commit(first)
		} else {
			first.Rollback()
		}
		got := receive(b, answer)[0]
		if commits {
			b.wantLost(got, key, inbox.Waiting)
		} else if got.Result != inbox.Won {
			b.Errorf("%s: %+v", key, got)
		}
		b.commit(second)
	}
	b.wantState("committed", inbox.Waiting)
	b.wantState("rolled back", inbox.Done)
}

func markStale(b *bundle) {
	b.park("waits", inbox.Waiting)
	b.in(func(t *txn.Txn) {
		b.win(t, "a", "b", "fresh")
		b.must(b.Store.Inbox().MarkStale(b.ctx, t, []inbox.ID{id("b"), id("a"), id("waits"), id("never seen")}))
		b.must(b.Store.Inbox().MarkStale(b.ctx, t, nil))
	})
	for key, want := range map[string]bool{"a": true, "b": true, "fresh": false, "waits": false} {
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

//evidence:first-record
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
//
//evidence:first-record
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

//evidence:hot-rows
func transitionsCross(b *bundle) {
	ids := []inbox.ID{id("a"), id("m"), id("z")}
	b.in(func(t *txn.Txn) { b.win(t, "a", "m", "z") })
	b.crossed(func(t *txn.Txn) { b.must(b.Store.Inbox().MarkStale(b.ctx, t, []inbox.ID{id("m")})) }, func(t *txn.Txn, backward bool) error {
		mine := slices.Clone(ids)
		if backward {
			slices.Reverse(mine)
		}
		_, err := b.Store.Inbox().Transition(b.ctx, t, mine, inbox.Done, inbox.Discarded)
		return err
	})
}
