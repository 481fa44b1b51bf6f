package reconcile_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/prune"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/reconcile"
	"github.com/headrace/headrace/schedule"
)

// What no webhook said is started once; what waits, is dead or was discarded is not
// missing, and neither is what may be on its way.
//
//evidence:reconcile
func TestEnqueue(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.sell(5*time.Hour, numbers(1, 40)...)
		b.sell(10*time.Minute, 41)
		b.hook("9.90", numbers(3, 38)...)
		b.hook("bad", 39, 40) // dead letters
		b.until("two dead letters", func() bool { return len(b.letters("orders.paid")) == 2 })
		if _, err := redrive.New(b.st).Discard(b.Context(), redrive.Request{Filter: dlq.Filter{IDs: []int64{b.letters("orders.paid")[0].LetterID}}, By: "ana", Reason: "test"}); err != nil {
			b.Fatal(err)
		}
		r := b.tick()
		b.says(r, 40, 2, 2)
		if !slices.Equal(r.Keys, []string{`shop\:order:1`, `shop\:order:2`}) {
			b.Errorf("keys %q", r.Keys)
		}
		b.once(numbers(1, 38)...)
		if row := b.row(); row.Missing != 2 || !row.GapFrom.IsZero() {
			b.Errorf("%+v", row)
		}
		b.says(b.tick(), 40, 0, 0)
		if row := b.row(); row.Missing != 0 {
			b.Errorf("then %+v", row)
		}
		b.hook("9.90", 1, 2) // late, with other bytes: duplicates
		b.once(numbers(1, 38)...)
		if n := len(b.letters("")); n != 1 {
			b.Errorf("%d dead letters", n)
		}
	})
}

// A report starts nothing, however much is missing.
//
//evidence:reconcile
func TestReport(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.job.Missing, b.job.Kind.SameWhen = reconcile.Report, nil
		b.sell(5*time.Hour, numbers(1, 130)...)
		r := b.tick()
		b.says(r, 130, 130, 0)
		if row := b.row(); row.Missing != 130 || !row.Checked.Equal(r.To.Truncate(time.Microsecond)) {
			b.Errorf("%+v", row)
		}
		b.once()
	})
}

// Rows that were pruned look missing: the run compares only what is younger than the newest
// cut, and tells what it leaves out. So it is when they are pruned while the source is read.
//
//evidence:reconcile
func TestPruned(t *testing.T) {
	for name, within := range map[string]bool{"before": false, "while the source is read": true} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				b.sell(0, numbers(1, 30)...)
				b.hook("9.90", numbers(1, 30)...)
				b.once(numbers(1, 30)...)
				b.pass(30 * time.Hour)
				b.sell(3*time.Hour, 31)
				b.job.MostMissing, b.job.MostShare = 1000, 1 // no other guard helps
				byHand := func() {
					done, err := prune.Round(context.Background(), b.st.Operations().Pruner, inbox.Plan{Window: 24 * time.Hour, DeadLetters: time.Hour}, "", "", prune.Options{})
					if err != nil || done.Messages != 30 {
						b.Errorf("%+v, %v", done, err)
					}
				}
				if within {
					b.read = func(n int) error {
						if n == 0 {
							byHand()
						}
						return nil
					}
				} else {
					byHand()
				}
				r := b.tick()
				b.once(numbers(1, 31)...)
				if r == nil || r.Gap == nil || r.Missing != 1 || r.Enqueued != 1 {
					b.Fatalf("%+v", r)
				}
				if row := b.row(); !row.GapFrom.Equal(r.Gap.From.Truncate(time.Microsecond)) || !row.GapTo.Equal(r.Gap.To.Truncate(time.Microsecond)) {
					b.Errorf("%+v, and the row %+v", r.Gap, row)
				}
			})
		})
	}
}

// With another key everything looks missing: nothing is started before a person has
// looked, and after a wrong decision nothing is applied twice all the same.
//
//evidence:reconcile
func TestWrongKey(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.sell(5*time.Hour, numbers(1, 30)...)
		b.hook("9.90", numbers(1, 30)...)
		b.job.Kind.Key = inbox.Join(inbox.Literal("other"), inbox.JSON("id"))
		if r := b.tick(); r != nil {
			b.Fatalf("it went on: %+v", r)
		}
		l := b.letters(b.job.Name)
		if len(l) != 1 || l[0].Class != dlq.Parked || !strings.Contains(l[0].Error, "30 of 30 items are missing, more than MostShare") {
			b.Fatalf("%+v", l)
		}
		b.once(numbers(1, 30)...)
		if n := b.count("SELECT count(*) FROM headrace_inbox"); n != 31 {
			b.Errorf("%d messages", n)
		}
		_, err := resolve.New(b.st).Resolve(b.Context(), resolve.Resolution{ID: l[0].ID(), Step: "limit", Decision: resolve.Done, By: "ana", Reason: "a mistake"})
		if err != nil {
			b.Fatal(err)
		}
		b.says(b.answer(l[0].ID().Key), 30, 30, 30)
		b.until("30 undecodable letters", func() bool { return len(b.letters("orders.paid")) == 30 })
		b.once(numbers(1, 30)...)
	})
}

// Above the limits a person decides: the tick goes on, or ends.
//
//evidence:reconcile
func TestLimit(t *testing.T) {
	for _, discard := range []bool{false, true} {
		t.Run(map[bool]string{false: "goes on", true: "ends"}[discard], func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				b.job.MostMissing = 3
				b.sell(5*time.Hour, numbers(1, 4)...)
				if r := b.tick(); r != nil {
					b.Fatalf("it went on: %+v", r)
				}
				l := b.letters(b.job.Name)
				if len(l) != 1 || l[0].Class != dlq.Parked || !strings.Contains(l[0].Error, "4 of 4 items are missing, more than MostMissing") {
					b.Fatalf("%+v", l)
				}
				b.once()
				if discard {
					if _, err := redrive.New(b.st).Discard(b.Context(), redrive.Request{Filter: dlq.Filter{IDs: []int64{l[0].LetterID}}, By: "ana", Reason: "a mistake"}); err != nil {
						b.Error(err)
					}
					b.once()
					return
				}
				_, err := resolve.New(b.st).Resolve(b.Context(), resolve.Resolution{ID: l[0].ID(), Step: "limit", Decision: resolve.Done, By: "ana", Reason: "the sender was down"})
				if err != nil {
					b.Fatal(err)
				}
				b.says(b.answer(l[0].ID().Key), 4, 4, 4)
				b.once(numbers(1, 4)...)
			})
		})
	}
}

// An outage longer than Lookback leaves no gap.
//
//evidence:reconcile
func TestOutage(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.says(b.tick(), 0, 0, 0)
		for n := range 5 {
			b.sell(0, n)
			b.pass(24 * time.Hour)
		}
		r := b.tick()
		b.says(r, 5, 5, 5)
		if d := r.To.Sub(r.From); d < 119*time.Hour || d > 121*time.Hour || r.Gap != nil {
			b.Errorf("it compared %s, %+v", d, r)
		}
		b.once(numbers(0, 4)...)
		if d := b.tick(); d.To.Sub(d.From) > 48*time.Hour {
			b.Errorf("the next one: %+v", d)
		}
	})
}

// Nothing is started before the source was read to its end: the second page fails, twice.
//
//evidence:reconcile
func TestSourceFails(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.sell(5*time.Hour, numbers(1, 110)...)
		b.job.MostMissing, b.job.MostShare = 1000, 1
		fails := 2
		b.read = func(n int) error {
			if n == 105 && fails > 0 {
				fails--
				if c := b.count("SELECT count(*) FROM headrace_inbox WHERE scope = 'billing/orders.paid'"); c != 0 {
					b.Errorf("%d were started", c)
				}
				return errors.New("the shop is down")
			}
			return nil
		}
		b.says(b.tick(), 110, 110, 110)
		b.once(numbers(1, 110)...)
	})
}

// An item without a time is refused: its message may have been pruned.
//
//evidence:reconcile
func TestWithoutTime(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.sell(5*time.Hour, 1, 2)
		b.shop[1].At = time.Time{}
		if r := b.tick(); r != nil {
			b.Errorf("%+v", r)
		}
		if l := b.letters(b.job.Name); len(l) != 1 || l[0].Class != dlq.Permanent || !strings.Contains(l[0].Error, "item 2 of the source of truth has no At") {
			b.Errorf("%+v", l)
		}
		b.once()
	})
}

// failingCodec is JSON whose one call of Encode fails.
type failingCodec struct {
	codec.Codec
	calls, fails int
}

func (c *failingCodec) Encode(v any) ([]byte, error) {
	if c.calls++; c.calls == c.fails {
		return nil, errors.New("no memory")
	}
	return c.Codec.Encode(v)
}

// A run that ends in the middle of its starts begins again, and the report has what it had
// found.
//
//evidence:reconcile
func TestBeginsAgain(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.job.Kind.Codec = &failingCodec{Codec: codec.JSON(), fails: 10 + 4} // the fourth start
		b.sell(5*time.Hour, numbers(1, 10)...)
		r := b.tick()
		b.says(r, 10, 10, 10)
		if n := b.count("SELECT count(*) FROM headrace_attempts WHERE scope = $1", "billing/"+b.job.Name); n != 1 || b.row().Missing != 10 {
			b.Errorf("%d failed attempts, %+v", n, b.row())
		}
		b.once(numbers(1, 10)...)
	})
}

// A process that starts makes the newest tick again: it is the same message, and no conflict,
// whatever key the consumer has.
//
//evidence:reconcile
func TestTickAgainIsADuplicate(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.config.Key = inbox.JSON("order_id") // which no tick has
		due := time.Date(b.now().UTC().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
		b.pass(due.Sub(b.now()) - time.Minute)
		b.until("the schedule is known", func() bool {
			return b.count("SELECT count(*) FROM headrace_schedules WHERE seen_at IS NOT NULL") == 1
		})
		b.shift(2 * time.Minute)
		b.until("the tick has come", func() bool { return b.count("SELECT count(*) FROM headrace_inbox") == 1 })
		b.says(b.answer(schedule.ID(b.job.Name, due)), 0, 0, 0)
		b.pass(0)
		b.until("it has come again", func() bool { return b.c.Stats().Duplicates > 0 || len(b.letters("")) > 0 })
		if l := b.letters(""); len(l) != 0 {
			b.Errorf("dead letters %+v", l)
		}
	})
}
