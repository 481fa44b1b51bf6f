package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var groupTests = []test{
	{name: "the second of two claims waits and is lost when the first commits", run: secondLoses, needs: concurrentWriters},
	{name: "the second of two claims waits and is won when the first rolls back", run: secondWins, needs: concurrentWriters},
	{name: "Begin waits for the transaction that is open", run: beginWaits, needs: oneWriter},
	{name: "groups in opposite order never deadlock", run: groupsCross, needs: concurrentWriters},
	{name: "groups in any order never deadlock, and each key is won once", run: groupsNeverDeadlock},
	{name: "a lock timeout makes only the held keys busy", run: lockTimeoutBusy, needs: concurrentWriters},
	{name: "a lock timeout answers lost keys too", run: lockTimeoutLost, needs: concurrentWriters},
	{name: "the lock timeout is not in force after the claim", run: lockTimeoutEnds, needs: concurrentWriters},
	{name: "an unguarded claim fails where the wait is too long", run: unguarded, needs: concurrentWriters},
	{name: "a single claim waits as long as it takes, or for the lock timeout", run: singleWaits, needs: concurrentWriters},
	{name: "the idle limit frees the claims of a stopped process", run: idleLimit, needs: serverLimits},
	{name: "the limit of a statement cancels it, and the transaction goes on from a savepoint", run: statementLimit, needs: serverLimits},
}

// brief is a lock timeout, and window how long a test looks that something does
// not happen after it.
const (
	brief  = 50 * time.Millisecond
	window = 6 * brief
)

// claimLater claims in a goroutine of its own; the test's end waits for it.
func (b *bundle) claimLater(t *txn.Txn, r inbox.ClaimRequest) <-chan []inbox.Claimed {
	answers := make(chan []inbox.Claimed, 1)
	var wait sync.WaitGroup
	wait.Go(func() {
		got, err := b.Store.Inbox().Claim(b.ctx, t, r)
		if err != nil {
			b.Errorf("Claim: %v", err)
		}
		answers <- got
	})
	b.Cleanup(wait.Wait)
	return answers
}

// wantResults compares the results of a claim, by index.
func (b *bundle) wantResults(got []inbox.Claimed, want ...inbox.Result) {
	b.Helper()
	if len(got) != len(want) {
		b.Fatalf("%d answers, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].Result != want[i] {
			b.Errorf("answer %d: result %d, want %d", i, got[i].Result, want[i])
		}
	}
}

// secondLoses: a lookup in the statement of the claim would not see the row that
// the claim waited for (DESIGN §3 Claim).
//
//evidence:once
func secondLoses(b *bundle) {
	first, second := b.begin(), b.begin()
	b.win(first, "a")
	answers := b.claimLater(second, inbox.ClaimRequest{Claims: claims("a", "b")})
	b.awaitWaiters(1)
	b.commit(first)
	got := receive(b, answers)
	b.wantResults(got, inbox.Lost, inbox.Won)
	b.wantLost(got[0], "a", inbox.Done)
	b.commit(second)
	b.wantState("b", inbox.Done)
}

func secondWins(b *bundle) {
	first, second := b.begin(), b.begin()
	b.win(first, "a")
	answers := b.claimLater(second, inbox.ClaimRequest{Claims: claims("b", "a")})
	b.awaitWaiters(1)
	first.Rollback()
	b.wantResults(receive(b, answers), inbox.Won, inbox.Won)
	b.commit(second)
	b.wantState("a", inbox.Done)
}

func beginWaits(b *bundle) {
	first := b.begin()
	b.win(first, "a")
	ctx, cancel := context.WithTimeout(b.ctx, brief)
	defer cancel()
	if t, err := b.Store.Begin(ctx); err == nil {
		t.Rollback()
		b.Fatal("two transactions are open for writing")
	}
	begun := make(chan *txn.Txn, 1)
	var wait sync.WaitGroup
	wait.Go(func() {
		t, err := b.Store.Begin(b.ctx)
		if err != nil {
			b.Errorf("Begin: %v", err)
		}
		begun <- t
	})
	b.commit(first)
	second := receive(b, begun)
	wait.Wait()
	if second == nil {
		return
	}
	b.wantLost(b.claim(second, "a")[0], "a", inbox.Done)
	b.commit(second)
}

// crossed has two transactions take three things in opposite orders, while a third
// holds the middle one: each has its first by then, unless both take them in one
// order, and they deadlock when the middle one is free. take gets them in the order
// in which the caller of the store would.
func (b *bundle) crossed(hold func(*txn.Txn), take func(t *txn.Txn, backward bool) error) {
	b.Helper()
	holder := b.begin()
	hold(holder)
	results := make(chan error, 2)
	var wait sync.WaitGroup
	for n, backward := range []bool{false, true} {
		t := b.begin()
		wait.Go(func() {
			defer t.Rollback()
			results <- take(t, backward)
		})
		b.awaitWaiters(n + 1)
	}
	holder.Rollback()
	for range 2 {
		if err := receive(b, results); err != nil {
			b.Errorf("while another takes the same in the opposite order: %v", err)
		}
	}
	wait.Wait()
}

// groupsCross: two multi-row inserts with keys in opposite order deadlock unless
// the store sorts them.
//
//evidence:hot-rows
func groupsCross(b *bundle) {
	for _, timeout := range []time.Duration{0, waitTimeout} {
		b.crossed(func(t *txn.Txn) { b.win(t, "m") }, func(t *txn.Txn, backward bool) error {
			keys := []string{"a", "m", "z"}
			if backward {
				slices.Reverse(keys)
			}
			_, err := b.Store.Inbox().Claim(b.ctx, t, inbox.ClaimRequest{Claims: claims(keys...), LockTimeout: timeout})
			return err
		})
	}
}

//evidence:once
func groupsNeverDeadlock(b *bundle) {
	const workers, rounds, size = 8, 12, 24
	keys := make([]string, 2*size)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%02d", i)
	}
	var mu sync.Mutex
	won := make(map[string]int)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for r := range rounds {
				if err := b.claimShuffled(random, keys, size, r%2 == 0, &mu, won); err != nil {
					b.Errorf("worker %d: %v", w, err)
					return
				}
			}
		})
	}
	wait.Wait()
	for key, n := range won {
		if n != 1 {
			b.Errorf("%s was won and committed %d times", key, n)
		}
	}
}

// claimShuffled claims size of keys in any order and commits, or rolls back, and
// counts what it won.
func (b *bundle) claimShuffled(random *rand.Rand, keys []string, size int, commit bool, mu *sync.Mutex, won map[string]int) error {
	some := make([]string, 0, size)
	for _, i := range random.Perm(len(keys))[:size] {
		some = append(some, keys[i])
	}
	t, err := b.Store.Begin(b.ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	answers, err := b.Store.Inbox().Claim(b.ctx, t, inbox.ClaimRequest{Claims: claims(some...)})
	if err != nil || !commit {
		return err
	}
	if err := b.Store.Commit(b.ctx, t, nil); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	for i, c := range answers {
		if c.Result == inbox.Won {
			won[some[i]]++
		}
	}
	return nil
}

// lockTimeoutBusy: a plain lock timeout would abort the whole group and name no
// key.
//
//evidence:busy
func lockTimeoutBusy(b *bundle) {
	holder := b.begin()
	b.win(holder, "b", "d")
	t := b.begin()
	got := b.request(t, inbox.ClaimRequest{Claims: claims("e", "d", "c", "b", "a"), LockTimeout: brief})
	b.wantResults(got, inbox.Won, inbox.Busy, inbox.Won, inbox.Busy, inbox.Won)
	b.exec(t, "INSERT INTO {{schema}}.effects (scope, key) VALUES ($1, $2)", scope, "a")
	b.commit(t)
	holder.Rollback()
	for _, key := range []string{"a", "c", "e"} {
		b.wantState(key, inbox.Done)
	}
	b.wantState("b", "")
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.effects"); n != 1 {
		b.Errorf("%d effects, want the one of the group", n)
	}
}

func lockTimeoutLost(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "a") })
	holder, t := b.begin(), b.begin()
	b.win(holder, "b")
	got := b.request(t, inbox.ClaimRequest{Claims: claims("c", "b", "a"), LockTimeout: brief})
	b.wantResults(got, inbox.Won, inbox.Busy, inbox.Lost)
	b.wantLost(got[2], "a", inbox.Done)
	b.commit(t)
}

// lockTimeoutEnds: the timeout of the claim must not reach the handlers, whether
// or not it struck.
//
//evidence:session
func lockTimeoutEnds(b *bundle) {
	b.exec(b.DB, "INSERT INTO {{schema}}.effects (scope, key) VALUES ('row', 'row')")
	const touch = "UPDATE {{schema}}.effects SET key = key WHERE scope = 'row'"
	for _, c := range []struct{ struck, unguarded bool }{{true, false}, {false, false}, {false, true}} {
		holder, t := b.begin(), b.begin()
		b.exec(holder, touch)
		if c.struck {
			b.win(holder, "held")
		}
		b.request(t, inbox.ClaimRequest{Claims: claims("held", "free"), LockTimeout: brief, Unguarded: c.unguarded})
		handled := make(chan error, 1)
		var wait sync.WaitGroup
		wait.Go(func() {
			_, err := t.ExecContext(b.ctx, b.statement(touch))
			handled <- err
		})
		b.awaitWaiters(1)
		select {
		case err := <-handled:
			b.Errorf("the handler's statement ended while the row was held: %v", err)
			handled <- err
		case <-time.After(window):
		}
		holder.Rollback()
		if err := receive(b, handled); err != nil {
			b.Errorf("the handler's statement: %v", err)
		}
		wait.Wait()
		t.Rollback()
	}
}

// unguarded: the transaction that sets the savepoint learns that it has to claim again.
func unguarded(b *bundle) {
	holder, t := b.begin(), b.begin()
	b.win(holder, "a")
	r := inbox.ClaimRequest{Claims: claims("a", "b"), LockTimeout: brief, Unguarded: true}
	if _, err := b.Store.Inbox().Claim(b.ctx, t, r); txn.Classify(err) != txn.LockTimeout {
		b.Errorf("Claim of a held key: %v, want the class of a lock timeout", err)
	}
	if err := b.Store.Commit(b.ctx, t, nil); err == nil {
		b.Error("the transaction of the failed claim was committed")
	}
	b.wantState("b", "")
	holder.Rollback()
	again := b.begin()
	b.wantResults(b.request(again, r), inbox.Won, inbox.Won)
	b.commit(again)
	b.wantState("a", inbox.Done)
	lost := b.begin()
	b.wantResults(b.request(lost, r), inbox.Lost, inbox.Lost)
	b.commit(lost)
}

func singleWaits(b *bundle) {
	holder, t := b.begin(), b.begin()
	b.win(holder, "a")
	bounded := b.begin()
	b.wantResults(b.request(bounded, inbox.ClaimRequest{Claims: claims("a"), LockTimeout: brief}), inbox.Busy)
	b.commit(bounded)
	answers := b.claimLater(t, inbox.ClaimRequest{Claims: claims("a")})
	b.awaitWaiters(1)
	select {
	case got := <-answers:
		b.Fatalf("the claim of a held key ended: %+v", got)
	case <-time.After(window):
	}
	b.commit(holder)
	b.wantResults(receive(b, answers), inbox.Lost)
	b.commit(t)
}

// idleLimit: without it a stopped process keeps its claims for ever.
//
//evidence:abandoned
func idleLimit(b *bundle) {
	stopped, next := b.begin(), b.begin()
	b.request(stopped, inbox.ClaimRequest{Claims: claims("a"), Limits: txn.Limits{Idle: brief}})
	b.win(next, "a") // waits until the server has ended the other
	b.commit(next)
	if err := b.Store.Commit(b.ctx, stopped, nil); err == nil {
		b.Error("the transaction that the server ended was committed")
	}
	b.wantState("a", inbox.Done)
}

// statementLimit: the server ends a statement by itself, on each of the ways to work, and
// says so; nothing else is lost.
func statementLimit(b *bundle) {
	b.exec(b.DB, "INSERT INTO {{schema}}.effects (scope, key) VALUES ('row', 'row')")
	b.offer(item("leased"))
	b.lease("t", time.Hour, 1)
	limits := txn.Limits{Statement: brief}
	for name, set := range map[string]func(*txn.Txn){
		"claim": func(t *txn.Txn) { b.request(t, inbox.ClaimRequest{Claims: claims("a"), Limits: limits}) },
		"bounded claim": func(t *txn.Txn) {
			b.request(t, inbox.ClaimRequest{Claims: claims("b"), Limits: limits, LockTimeout: brief})
		},
		"shard": func(t *txn.Txn) {
			if got, err := b.Store.Backlog().LockShard(b.ctx, t, consumer, 3, limits); err != nil || !got {
				b.Fatalf("LockShard: %t, %v", got, err)
			}
		},
		"fence": func(t *txn.Txn) {
			if held, err := b.leases().Fence(b.ctx, t, b.leaseOf("leased", "t"), limits); err != nil || !held {
				b.Fatalf("Fence: %t, %v", held, err)
			}
		},
	} {
		holder, t := b.begin(), b.begin()
		b.exec(holder, "UPDATE {{schema}}.effects SET key = key WHERE scope = 'row'")
		set(t)
		before := t.Savepoint("suite")
		b.must(before.Set(b.ctx))
		_, err := t.ExecContext(b.ctx, b.statement("UPDATE {{schema}}.effects SET key = key WHERE scope = 'row'"))
		var state interface{ SQLState() string }
		if !errors.As(err, &state) || state.SQLState() != "57014" {
			b.Errorf("%s: a statement over its limit: %v", name, err)
		}
		b.must(before.RollbackTo(b.ctx))
		b.effect(t, name)
		b.commit(t)
		holder.Rollback()
		if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.effects WHERE key = $1", name); n != 1 {
			b.Errorf("%s: %d effects", name, n)
		}
	}
}
