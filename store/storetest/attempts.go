package storetest

import (
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var attemptTests = []test{
	{name: "attempts count from 1 over transactions", run: attemptsCount},
	{name: "attempts of many messages are added at once", run: attemptsBulk},
	{name: "the second of two attempts waits, and counts on", run: attemptsAtOnce, needs: concurrentWriters},
	{name: "attempts in opposite order never deadlock", run: attemptsCross, needs: concurrentWriters},
	{name: "a rolled-back attempt leaves no gap", run: attemptsRolledBack},
	{name: "attempts keep what was recorded", run: attemptsKept},
}

func attempt(key string) inbox.Attempt {
	return inbox.Attempt{
		ID: id(key), Class: "transient", Error: "no route to \x00 host \u00e9", ErrorType: "*net.OpError",
		Duration: 1234 * time.Microsecond, Host: "host-1", Build: "v1.2.3",
		Trace: headrace.TraceContext{Parent: "00-trace-01", State: "a=b"},
	}
}

// fail adds an attempt of a message, and returns its number.
func (b *bundle) fail(t *txn.Txn, key string) int {
	b.Helper()
	return b.failAll(t, key)[0]
}

// failAll adds an attempt of each message.
func (b *bundle) failAll(t *txn.Txn, keys ...string) []int {
	b.Helper()
	numbers, err := b.addAttempts(t, keys...)
	if err != nil || len(numbers) != len(keys) {
		b.Fatalf("AddAttempts of %d: %v, %v", len(keys), numbers, err)
	}
	return numbers
}

// addAttempts may be called from any goroutine.
func (b *bundle) addAttempts(t *txn.Txn, keys ...string) ([]int, error) {
	attempts := make([]inbox.Attempt, len(keys))
	for n, key := range keys {
		attempts[n] = attempt(key)
	}
	return b.Store.Inbox().AddAttempts(b.ctx, t, attempts)
}

func (b *bundle) attempts(key string) []inbox.Attempt {
	b.Helper()
	list, err := b.Store.Inbox().Attempts(b.ctx, id(key))
	b.must(err)
	return list
}

//evidence:attempts
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
	b.in(func(t *txn.Txn) { b.win(t, "committed", "rolled back", "other committed", "other rolled back") })
	for key, want := range map[string]int{"committed": 2, "rolled back": 1} {
		first, second := b.begin(), b.begin()
		b.fail(first, key)
		answer := make(chan []int, 1)
		var wait sync.WaitGroup
		wait.Go(func() {
			got, err := b.addAttempts(second, "other "+key, key)
			if err != nil {
				b.Errorf("AddAttempts: %v", err)
			}
			answer <- got
		})
		b.awaitWaiters(1)
		if key == "committed" {
			b.commit(first)
		} else {
			first.Rollback()
		}
		if got := receive(b, answer); !slices.Equal(got, []int{1, want}) {
			b.Errorf("%s: the attempts have numbers %d, want 1 and %d", key, got, want)
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
		_, err := b.Store.Inbox().AddAttempts(b.ctx, t, []inbox.Attempt{earlier})
		b.must(err)
	})
	got = b.attempts("a")
	if apart := got[0].At.Sub(got[1].At); apart < 23*time.Hour || apart > 25*time.Hour {
		b.Errorf("an attempt of a day ago is recorded %s before the one of now", apart)
	}
}

// attemptsBulk: the failures of a batch are one statement, and each has the number of its
// own message.
func attemptsBulk(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "z", "a", "m"); b.fail(t, "m"); b.fail(t, "m"); b.fail(t, "a") })
	b.in(func(t *txn.Txn) {
		if got := b.failAll(t, "z", "m", "a"); !slices.Equal(got, []int{1, 3, 2}) {
			b.Errorf("numbers %d, want 1, 3 and 2", got)
		}
		if got, err := b.addAttempts(t); err != nil || len(got) != 0 {
			b.Errorf("of none: %d, %v", got, err)
		}
	})
	for key, want := range map[string]int{"z": 1, "m": 3, "a": 2} {
		if got := b.attempts(key); len(got) != want || got[len(got)-1].N != want {
			b.Errorf("attempts of %s: %+v", key, got)
		}
	}
	t := b.begin()
	defer t.Rollback()
	if _, err := b.addAttempts(t, "a", "b", "a"); err == nil {
		b.Error("two attempts of one message were taken")
	}
}

// attemptsCross: two batches record failures of the same messages in opposite orders.
func attemptsCross(b *bundle) {
	b.in(func(t *txn.Txn) { b.win(t, "a", "m", "z") })
	b.crossed(func(t *txn.Txn) { b.fail(t, "m") }, func(t *txn.Txn, backward bool) error {
		keys := []string{"a", "m", "z"}
		if backward {
			slices.Reverse(keys)
		}
		_, err := b.addAttempts(t, keys...)
		return err
	})
}
