package storetest

import (
	"math"
	"strings"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var versionTests = []test{
	{name: "a version is newer once", run: versionOnce},
	{name: "versions are by scope and entity", run: versionScopes},
	{name: "a rolled-back version leaves none behind", run: versionRolledBack},
	{name: "a version in a savepoint goes with it", run: versionSavepoint},
	{name: "of two versions at once the second compares with the first", run: versionAtOnce, needs: concurrentWriters},
	{name: "of two versions at once the second stands where the first rolls back", run: versionAtOnceRolledBack, needs: concurrentWriters},
	{name: "an entity that no column holds is refused, and the transaction goes on", run: versionRefuses},
}

func (b *bundle) newer(t *txn.Txn, entity string, version int64) bool {
	b.Helper()
	newer, err := b.Store.Operations().Versions.Newer(b.ctx, t, scope, entity, version)
	if err != nil {
		b.Fatalf("Newer(%d): %v", version, err)
	}
	return newer
}

func versionOnce(b *bundle) {
	for _, c := range []struct {
		version int64
		newer   bool
	}{
		{math.MinInt64, true}, {math.MinInt64, false}, {-1, true}, {0, true}, {5, true}, {5, false}, {4, false},
		{math.MaxInt64, true}, {math.MaxInt64, false}, {0, false},
	} {
		b.in(func(t *txn.Txn) {
			if got := b.newer(t, "order 7", c.version); got != c.newer {
				b.Errorf("Newer(%d) = %t", c.version, got)
			}
		})
	}
}

func versionScopes(b *bundle) {
	b.in(func(t *txn.Txn) {
		for _, at := range [][2]string{{scope, "a"}, {scope, "b"}, {scope, "A"}, {"other", "a"}, {scope, "\u00e9"}, {scope, "e\u0301"}} {
			newer, err := b.Store.Operations().Versions.Newer(b.ctx, t, at[0], at[1], 1)
			if err != nil || !newer {
				b.Errorf("%q: %t, %v", at, newer, err)
			}
		}
	})
}

func versionRolledBack(b *bundle) {
	t := b.begin()
	b.newer(t, "a", 1)
	t.Rollback()
	b.in(func(t *txn.Txn) {
		if !b.newer(t, "a", 1) {
			b.Error("a version of a transaction that was rolled back is remembered")
		}
	})
}

func versionSavepoint(b *bundle) {
	b.in(func(t *txn.Txn) {
		before := t.Savepoint("suite")
		b.must(before.Set(b.ctx))
		b.newer(t, "a", 2)
		b.must(before.RollbackTo(b.ctx))
		b.must(before.Release(b.ctx))
		if !b.newer(t, "a", 1) {
			b.Error("a version of a savepoint that was rolled back is remembered")
		}
	})
}

// together raises a's version in two transactions at once, and returns what the second
// is told when the first has ended.
func (b *bundle) together(first, second int64, end func(*txn.Txn)) bool {
	one, two := b.begin(), b.begin()
	b.newer(one, "a", first)
	answer := make(chan bool, 1)
	go func() {
		newer, err := b.Store.Operations().Versions.Newer(b.ctx, two, scope, "a", second)
		if err != nil {
			b.Error(err)
		}
		answer <- newer
	}()
	b.awaitWaiters(1)
	end(one)
	newer := receive(b, answer)
	b.commit(two)
	return newer
}

func versionAtOnce(b *bundle) {
	b.in(func(t *txn.Txn) { b.newer(t, "a", 1) })
	commit := func(t *txn.Txn) { b.commit(t) }
	if b.together(3, 2, commit) {
		b.Error("2 is newer than 3")
	}
	if !b.together(4, 5, commit) {
		b.Error("5 is not newer than 4")
	}
}

func versionAtOnceRolledBack(b *bundle) {
	if !b.together(3, 2, (*txn.Txn).Rollback) {
		b.Error("2 is not newer than a 3 that was rolled back")
	}
}

func versionRefuses(b *bundle) {
	b.in(func(t *txn.Txn) {
		for _, entity := range []string{"", "a\x00b", "\xff", strings.Repeat("x", inbox.MaxKeyBytes+1)} {
			if _, err := b.Store.Operations().Versions.Newer(b.ctx, t, scope, entity, 1); err == nil {
				b.Errorf("%d bytes are taken as an entity", len(entity))
			}
		}
		if !b.newer(t, strings.Repeat("x", inbox.MaxKeyBytes), 1) {
			b.Error("the longest entity is not newer than none")
		}
	})
}
