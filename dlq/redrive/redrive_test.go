package redrive_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var everything = redrive.Request{All: true, By: "ann", Reason: "fixed"}

func (b *fixture) redrive(r redrive.Request, redriven, skipped int) redrive.Result {
	b.Helper()
	result, err := b.admin.Redrive(b.ctx, r)
	if err != nil || result.Done != redriven || result.Skipped != skipped {
		b.Fatalf("%+v, %v; want %d redriven, %d skipped", result, err, redriven, skipped)
	}
	return result
}

func only(id int64) redrive.Request {
	return redrive.Request{Filter: dlq.Filter{IDs: []int64{id}}, By: "ann", Reason: "fixed"}
}

// Invariant 13: the message is handed over whole, with a new budget, and the audit row
// says who did it.
//
//evidence:redrive
func TestRedriveHandsTheMessageOver(t *testing.T) {
	onBoth(t, func(b *fixture) {
		l := letter("k", func(l *dlq.Letter) { l.Redrives, l.PreviousID = 3, 99 })
		id := b.die(l)[0]
		b.redrive(only(id), 1, 0)

		items := b.ready()
		if len(items) != 1 {
			b.Fatalf("%d rows in the backlog", len(items))
		}
		want := backlog.Item{
			RowID: items[0].RowID, Place: items[0].Place, Consumer: l.Consumer, Handler: l.Handler, Delivery: l.Delivery,
			Spent: 2, LetterID: id, Redrives: 4,
		}
		want.Delivery.Attempt = 1
		if diff := cmp.Diff(want, items[0]); diff != "" {
			b.Error(diff)
		}
		detail, err := b.admin.Show(b.ctx, id)
		b.must(err)
		if detail.Letter.State != dlq.Redriven || detail.Inbox.State != inbox.Waiting || len(detail.Attempts) != 2 || len(detail.Trail) != 1 {
			b.Errorf("%+v", detail)
		}
		a := detail.Trail[0]
		if a.Action != "redrive" || a.By != "ann" || a.Reason != "fixed" || a.LetterID != id || a.At.IsZero() {
			b.Errorf("audit: %+v", a)
		}
	})
}

// Invariant 13, fault 64: two commands and a double click redrive each letter once.
//
//evidence:redrive
func TestRedriveOnceFromEightSides(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.dieMany(120)
		var total atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				r := everything
				if i%2 == 0 {
					r = redrive.Request{Filter: dlq.Filter{IDs: ids}, By: "bob"}
				}
				result, err := b.admin.Redrive(b.ctx, r)
				if err != nil {
					b.Error(err)
				}
				total.Add(int64(result.Done))
			})
		}
		wg.Wait()
		if total.Load() != 120 || b.depth() != (backlog.Depth{Ready: 120}) {
			b.Errorf("%d redriven, backlog %+v", total.Load(), b.depth())
		}
		for _, id := range ids {
			if trail, err := b.st.Letters().Trail(b.ctx, id); err != nil || len(trail) != 1 {
				b.Errorf("letter %d: %+v, %v", id, trail, err)
			}
		}
	})
}

// Invariant 13: a redrive passes through the inbox.
//
//evidence:redrive
func TestRedriveOfWhatWasApplied(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.dieMany(2)
		b.redrive(only(ids[0]), 1, 0)
		b.workOff(b.ready())
		result := b.redrive(only(ids[0]), 0, 1)
		if !strings.Contains(result.Skips[0].Why, "no open letter") || b.inboxState("k0000") != inbox.Done {
			b.Errorf("%+v", result)
		}
		b.redrive(everything, 1, 0)
	})
}

// A letter whose message is not dead stays open and does not hold up the others of its batch.
func TestRedriveLeavesWhatDoesNotMove(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.dieMany(5)
		b.spoilt = true // as a repair by hand might leave it
		b.in(func(t *txn.Txn) {
			id := inbox.ID{Scope: "billing/orders.paid", Key: "k0002"}
			_, err := b.st.Inbox().Transition(b.ctx, t, []inbox.ID{id}, inbox.Dead, inbox.Done)
			b.must(err)
		})
		result := b.redrive(everything, 4, 1)
		if result.Skips[0].LetterID != ids[2] || b.letterState(ids[2]) != dlq.Open || b.inboxState("k0002") != inbox.Done {
			b.Errorf("%+v", result)
		}
		if trail, err := b.st.Letters().Trail(b.ctx, ids[2]); err != nil || len(trail) != 0 {
			b.Errorf("%+v, %v", trail, err)
		}
		if b.depth() != (backlog.Depth{Ready: 4}) {
			b.Errorf("%+v", b.depth())
		}
	})
}

// DESIGN §3 Outcomes: a conflict is redriven only under a new key.
//
//evidence:redrive-conflict
func TestRedriveConflict(t *testing.T) {
	onBoth(t, func(b *fixture) {
		first := b.die(letter("k"), letter("other"))[0]
		id := b.die(letter("k", conflict))[0]
		result := b.redrive(everything, 2, 1)
		if result.Skips[0].LetterID != id || b.letterState(first) != dlq.Redriven || b.letterState(id) != dlq.Open {
			b.Errorf("%+v", result)
		}

		r := only(id)
		r.NewKey = "other"
		var partial *redrive.PartialError
		if _, err := b.admin.Redrive(b.ctx, r); !errors.Is(err, redrive.ErrKeyTaken) || !errors.As(err, &partial) || partial.Done != 0 {
			b.Errorf("a key that is taken: %v", err)
		}
		if b.letterState(id) != dlq.Open {
			b.Error("the letter is lost")
		}
		r.NewKey = "k-2"
		b.redrive(r, 1, 0)
		if b.inboxState("k-2") != inbox.Waiting || b.inboxState("k") != inbox.Waiting {
			b.Error("inbox rows")
		}
		items := b.ready()
		i := slices.IndexFunc(items, func(i backlog.Item) bool { return i.LetterID == id })
		if i < 0 || items[i].Delivery.Key != "k-2" || items[i].Spent != 0 || items[i].Delivery.Fingerprint != "f-k-other" {
			b.Fatalf("%+v", items)
		}
		if trail, err := b.st.Letters().Trail(b.ctx, id); err != nil || len(trail) != 1 || trail[0].Detail != "under the new key k-2" {
			b.Errorf("%+v, %v", trail, err)
		}
	})
}

//evidence:redrive-conflict
func TestNewKeyIsForConflictsOnly(t *testing.T) {
	onBoth(t, func(b *fixture) {
		id := b.dieMany(1)[0]
		r := only(id)
		r.NewKey = "k-2"
		b.redrive(r, 0, 1)
		if b.letterState(id) != dlq.Open || b.inboxState("k0000") != inbox.Dead || b.inboxState("k-2") != "" {
			b.Error("something moved")
		}
	})
}

// What waits goes first, and letters in the order of their ids.
func TestRedriveKeepsStrictOrder(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.die(letter("a1", strict("a")), letter("b1", strict("b")), letter("a2", strict("a")), letter("none", strict("")))
		first := b.die(letter("b0", strict("b")))[0]
		b.redrive(only(first), 1, 0)
		b.redrive(everything, 4, 0)
		if got := b.depth(); got != (backlog.Depth{Ready: 5}) {
			b.Errorf("%+v", got)
		}
		b.check()
		var order []string
		items := b.ready()
		for _, item := range items {
			if order = append(order, item.Delivery.Key); item.Behind {
				b.Errorf("%s is behind a row that comes later", item.Delivery.Key)
			}
		}
		b.workOff(items)
		slices.SortStableFunc(order, func(x, y string) int { return strings.Compare(x[:1], y[:1]) })
		if got := strings.Join(order, " "); got != "a1 a2 b0 b1 none" {
			b.Errorf("worked off %s", got)
		}
	})
}

// Fault 64, bad input 59: a redrive that is stopped says how far it came, and goes on.
func TestRedriveStoppedInTheMiddle(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.dieMany(60)
		ctx, cancel := context.WithCancel(b.ctx)
		r := everything
		r.Progress = func(int) { cancel() }
		result, err := b.admin.Redrive(ctx, r)
		var partial *redrive.PartialError
		if !errors.As(err, &partial) || !errors.Is(err, context.Canceled) || partial.Done != result.Done || partial.Unknown != 0 {
			b.Fatalf("%+v, %v", result, err)
		}
		done := result.Done
		if done == 0 || done == 60 || b.depth() != (backlog.Depth{Ready: int64(done)}) {
			b.Fatalf("%d done, %+v", done, b.depth())
		}
		b.check()
		b.redrive(everything, 60-done, 0)
	})
}

// Fault 65: what fails again while the redrive runs is not sent round and round.
func TestRedriveEndsAtWhatThereWas(t *testing.T) {
	onBoth(t, func(b *fixture) {
		b.dieMany(30)
		r := everything
		late := 0
		r.Progress = func(int) {
			b.die(letter("late-" + string(rune('a'+late))))
			late++
		}
		b.redrive(r, 30, 0)
		if late < 2 {
			b.Fatalf("only %d batches", late)
		}
		if n, err := b.admin.Count(b.ctx, dlq.Filter{}); err != nil || n != int64(late) {
			b.Errorf("%d open letters, %v", n, err)
		}
	})
}

// Bad input 54: ids twice, ids that do not exist, more ids than a batch holds.
func TestRedriveByIDs(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.dieMany(520)
		wanted := append(slices.Clone(ids[:510]), ids[:100]...)
		wanted = append(wanted, 1<<40, ids[3])
		result := b.redrive(redrive.Request{Filter: dlq.Filter{IDs: wanted}, By: "ann"}, 510, 1)
		if result.Skips[0].LetterID != 1<<40 {
			b.Errorf("%+v", result.Skips)
		}
		if n, err := b.admin.Count(b.ctx, dlq.Filter{}); err != nil || n != 10 {
			b.Errorf("%d left, %v", n, err)
		}
	})
}

func TestRedriveLimitTakesTheOldest(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.dieMany(40)
		r := everything
		r.Limit = 25
		b.redrive(r, 25, 0)
		if b.letterState(ids[24]) != dlq.Redriven || b.letterState(ids[25]) != dlq.Open {
			b.Error("not the oldest ones")
		}
	})
}
