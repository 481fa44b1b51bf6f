package group

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/retry"
)

// While the process may not lease anything, nothing is claimed.
func TestNotLeasedWithCare(t *testing.T) {
	asked := make(chan struct{}, 100)
	care := &fakeCare{grant: func(int, int) int { asked <- struct{}{}; return 0 }}
	r := leasedRig(t, idle, fineEffects, careful(care))
	r.offer("a")
	r.lease(func() bool { return len(asked) > 2 })
	want(t, "claims", len(r.calls("lease")), 0)
	want(t, "state", r.state("a"), inbox.Waiting)
}

// What is in hand is counted from before the claim until the outcome is committed, and
// no leased work is written down.
func TestLeasesAreCounted(t *testing.T) {
	care := &fakeCare{grant: func(int, int) int { return 1 }}
	during := -1
	r := leasedRig(t, idle, func(ctx context.Context, tx *headrace.Tx, key string) error {
		during = care.inHand()
		return nil
	}, careful(care))
	r.offer("a")
	r.lease(func() bool { return r.drained("applied", 1)() && r.e.held() == 0 })
	want(t, "in hand while the effects ran", during, 1)
	want(t, "in hand", care.inHand(), 0)
	want(t, "asked to run", r.story(), "")
	want(t, "claims", r.calls("lease")[0], "lease 1")
}

// A message that has lost two leases is worked on as the only one: so the third loses no
// other message's. Where others are in hand it is given back in the commit that claimed
// it, and no start is counted.
func TestSuspectLeaseIsTheOnlyOne(t *testing.T) {
	var mu sync.Mutex
	var allowed, beside bool
	hand := 0
	care := &fakeCare{}
	care.grant = func(hand, _ int) int { return max(0, 1-hand) } // a look of another worker is a lease in hand too
	care.only = func(int) bool { mu.Lock(); defer mu.Unlock(); return allowed }
	r := leasedRig(t, func(_ context.Context, key string) error {
		mu.Lock()
		defer mu.Unlock()
		if hand = care.inHand(); key == "suspect" {
			beside = hand > 1
		}
		allowed = true
		return nil
	}, fineEffects, careful(care), func(r *rig) { r.h.Policy = retry.Policy{MaxAttempts: 1}.WithDefaults() })
	r.offer("suspect")
	for range 2 {
		if n, err := r.e.leaser.claimOnly(); err != nil || n != 1 {
			t.Fatal(n, err)
		}
	}
	r.lease(func() bool {
		if len(r.calls("only")) == 1 && len(r.calls("give back")) == 1 {
			mu.Lock()
			allowed = true
			mu.Unlock()
		}
		return r.drained("applied", 1)()
	})
	calls := r.calls("only", "give back", "commit")
	if at := slices.Index(calls, "only"); at < 0 || !strings.HasPrefix(strings.Join(calls[at:], " "), "only give back 1 commit 0 only commit 0") {
		t.Errorf("calls %q", calls)
	}
	want(t, "beside others", beside, false)
	want(t, "attempts", r.attempts("suspect"), 2)
	want(t, "told of lost leases", r.hooks("failed suspect lost"), 2)
}

// With others in one claim, only one of those is begun; which have lost fewer go back.
func TestSuspectLeaseSendsOthersBack(t *testing.T) {
	care := &fakeCare{}
	var order []string
	r := leasedRig(t, func(_ context.Context, key string) error {
		order = append(order, key)
		for end := time.Now().Add(10 * time.Second); care.inHand() > 1 && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // what went back is given back soon after the claim's commit
		}
		want(t, "in hand", care.inHand(), 1)
		return nil
	}, fineEffects, careful(care), func(r *rig) {
		r.h.Policy = retry.Policy{MaxAttempts: 1}.WithDefaults()
		n := 0
		care.grant = func(hand, max int) int {
			if hand > 0 {
				return 0
			}
			if n++; n > 1 {
				return min(max, 1)
			}
			return max
		}
	})
	r.offer("suspect")
	for range 2 {
		if n, err := r.e.leaser.claimOnly(); err != nil || n != 1 {
			t.Fatal(n, err)
		}
	}
	r.offerOther("other")
	r.lease(r.drained("applied", 2))
	want(t, "given back", strings.Join(r.calls("give back"), ";"), "give back 1")
	want(t, "order", strings.Join(order, " "), "suspect other")
}

// offerOther is offer for a message of another order key, beside those that wait.
func (r *rig) offerOther(key string) {
	r.Helper()
	t, err := r.Store.Begin(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	task := r.task(key + "@other")
	if _, err := r.Store.Inbox().Record(r.Context(), t, inbox.Entry{ID: task.ID(), State: inbox.Waiting, Fingerprint: task.Delivery.Fingerprint}); err != nil {
		r.Fatal(err)
	}
	if err := r.Store.Backlog().Put(r.Context(), t, []backlog.Item{r.e.item(task)}); err != nil {
		r.Fatal(err)
	}
	if err := r.Store.Commit(r.Context(), t, nil); err != nil {
		r.Fatal(err)
	}
	l := NewLine(r.soft, "c", r.spy, map[string]*Engine{"h": r.e}, r.o)
	if result, err := l.Work(r.soft, shard.Of("other"), 0); err != nil || result.Rows != 1 {
		r.Fatal(result, err)
	}
}
