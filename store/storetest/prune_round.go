package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var missingTests = []test{
	{name: "keys without a row are missing, in their order", run: missingKeys},
	{name: "nothing is missing of nothing", run: missingNothing},
	{name: "scopes that have rows are known", run: missingScopes},
}

// takeRound asks for a round.
func (b *bundle) takeRound(consumer string, lease time.Duration) (string, bool) {
	b.Helper()
	position, due, err := b.Store.Operations().Pruner.Take(b.ctx, consumer, lease)
	b.must(err)
	return position, due
}

func pruneRounds(b *bundle) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range 5 {
		wait.Go(func() {
			if position, due := b.takeRound("billing", time.Hour); due {
				mu.Lock()
				taken++
				mu.Unlock()
				if position != "" {
					b.Errorf("the first round begins at %q", position)
				}
			}
		})
	}
	wait.Wait()
	if taken != 1 {
		b.Errorf("the first round is taken %d times", taken)
	}
	if _, due := b.takeRound("shipping", time.Hour); !due {
		b.Error("another consumer has no round of its own")
	}
	// Given back in the middle, it is taken up where it was.
	b.must(b.Store.Operations().Pruner.Keep(b.ctx, "billing", "here", 0))
	b.shift(time.Minute)
	if position, due := b.takeRound("billing", time.Hour); !due || position != "here" {
		b.Errorf("a round that was given back: %q, %t", position, due)
	}
	// Its holder dies: a lease that is over.
	b.must(b.Store.Operations().Pruner.Keep(b.ctx, "billing", "there", time.Hour))
	if _, due := b.takeRound("billing", time.Hour); due {
		b.Error("a round is taken while another process has it")
	}
	b.shift(2 * time.Hour)
	if position, due := b.takeRound("billing", time.Hour); !due || position != "there" {
		b.Errorf("after the lease: %q, %t", position, due)
	}
}

func pruneCut(b *bundle) {
	pruner := b.Store.Operations().Pruner
	newest := func(consumer string) time.Duration {
		b.Helper()
		cut, err := pruner.NewestCut(b.ctx, consumer)
		b.must(err)
		if cut.IsZero() {
			return 0
		}
		return time.Since(cut)
	}
	if d := newest("billing"); d != 0 {
		b.Errorf("nothing was pruned, and the cut is %s old", d)
	}
	b.must(pruner.Cut(b.ctx, "billing", 48*time.Hour))
	b.must(pruner.Cut(b.ctx, "billing", 24*time.Hour))
	b.must(pruner.Cut(b.ctx, "billing", 36*time.Hour))
	if d := newest("billing"); !roughly(d, 24*time.Hour) {
		b.Errorf("the newest cut is %s old", d)
	}
	if d := newest("shipping"); d != 0 {
		b.Errorf("the cut of another consumer is %s old", d)
	}
	b.must(pruner.Cut(b.ctx, "", 12*time.Hour))
	for _, consumer := range []string{"billing", "shipping"} {
		if d := newest(consumer); !roughly(d, 12*time.Hour) {
			b.Errorf("%s: all were pruned by hand, and the newest cut is %s old", consumer, d)
		}
	}
	if position, due := b.takeRound("billing", time.Hour); !due || position != "" {
		b.Errorf("a cut keeps a round from beginning: %q, %t", position, due)
	}
	b.must(pruner.Cut(b.ctx, "billing", 0))
	if _, due := b.takeRound("billing", time.Hour); due {
		b.Error("a cut gave a round away")
	}
}

func missingKeys(b *bundle) {
	b.park("done", inbox.Done)
	b.park("dead", inbox.Dead)
	b.park("waiting", inbox.Waiting)
	b.in(func(t *txn.Txn) {
		b.request(t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: inbox.ID{Scope: "other", Key: "elsewhere"}, Fingerprint: "f"}}})
	})
	got, err := b.Store.Operations().Finder.Missing(b.ctx, scope, []string{"z", "done", "elsewhere", "\xff", "dead", "a\x00", "waiting", "a", "Done", "z"})
	b.must(err)
	if diff := cmp.Diff([]string{"z", "elsewhere", "\xff", "a\x00", "a", "Done", "z"}, got); diff != "" {
		b.Errorf("missing (-want +got):\n%s", diff)
	}
	// In batches, from a cursor.
	b.in(func(t *txn.Txn) {
		for n := 0; n < 2500; n += 2 {
			b.record(t, fmt.Sprint("n", n), inbox.Done)
		}
	})
	missing, err := inbox.Missing(b.ctx, b.Store.Operations().Finder, scope, func(yield func(string) bool) {
		for n := range 2500 {
			if !yield(fmt.Sprint("n", n)) {
				return
			}
		}
	})
	if err != nil || len(missing) != 1250 || missing[0] != "n1" || missing[1249] != "n2499" {
		b.Errorf("%d missing, %v", len(missing), err)
	}
}

func missingNothing(b *bundle) {
	for _, keys := range [][]string{nil, {}} {
		if got, err := b.Store.Operations().Finder.Missing(b.ctx, scope, keys); err != nil || len(got) != 0 {
			b.Errorf("%v, %v", got, err)
		}
	}
}

func missingScopes(b *bundle) {
	scopes := func() []string {
		list, err := b.Store.Operations().Finder.Scopes(b.ctx)
		b.must(err)
		return list
	}
	if got := scopes(); len(got) > 0 {
		b.Errorf("the scopes of an empty inbox are %v", got)
	}
	b.in(func(t *txn.Txn) {
		for _, id := range []inbox.ID{{Scope: "b/x", Key: "1"}, {Scope: "a/y", Key: "1"}, {Scope: "b/x", Key: "2"}} {
			b.must(Enter(b.ctx, b.Store.Inbox(), t, inbox.Entry{ID: id, State: inbox.Done, Fingerprint: "f"}))
		}
	})
	if got := scopes(); !slices.Equal(got, []string{"a/y", "b/x"}) {
		b.Errorf("the scopes are %v", got)
	}
}
