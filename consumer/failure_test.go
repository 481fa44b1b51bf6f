package consumer_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

func (b *bundle) letters(f dlq.Filter) []dlq.Letter {
	b.Helper()
	list, err := b.st.Letters().List(b.Context(), f, 0, 100)
	if err != nil {
		b.Fatal(err)
	}
	return list
}

// Each failed attempt is committed before the next starts; at the limit
// the letter, the mark and the copy are one commit, and the source is acknowledged.
//
//evidence:letter
func TestExhaustedMessageIsKeptWhole(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if err := insert(ctx, tx, m); err != nil {
				return err
			}
			return fmt.Errorf("charge order 4711: %w", errBoom)
		})
		b.start(c)
		b.acked(b.src.Deliver(topic, "m", []byte(`{"n":1}`), map[string]string{"h": "\xfe"}))
		b.eventually("the letter", func() bool { return b.state("m") == inbox.Dead })
		if b.effects("m") != 0 {
			b.Error("a dead message has an effect (invariant 12)")
		}
		letters := b.letters(dlq.Filter{})
		if len(letters) != 1 {
			b.Fatalf("%d letters", len(letters))
		}
		l, err := b.st.Letters().Get(b.Context(), letters[0].LetterID)
		if err != nil {
			b.Fatal(err)
		}
		if string(l.Delivery.Payload) != `{"n":1}` || l.Delivery.Metadata["h"] != "\xfe" || l.Class != dlq.Exhausted ||
			l.Attempts != 3 || !strings.Contains(l.Error, "charge order 4711") || len(l.Chain) < 2 || l.ErrorFingerprint == "" ||
			l.FirstFailure.IsZero() || l.LastFailure.Before(l.FirstFailure) {
			b.Errorf("letter %+v", l)
		}
		attempts := b.attempts("m")
		if len(attempts) != 3 || attempts[2].N != 3 || attempts[0].Host == "" || attempts[0].Class != string(retry.Transient) {
			b.Errorf("attempts %+v", attempts)
		}
	})
}

// A failure belongs to its culprit: neighbours of the group are applied, and have no
// attempts.
//
//evidence:neighbours
func TestNeighboursOfAPoisonMessageAreApplied(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		config.Concurrency = 1
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if err := insert(ctx, tx, m); err != nil {
				return err
			}
			if m.Body.N%10 == 3 {
				return retry.Permanent(errBoom)
			}
			return nil
		})
		var all []*message.Message
		for n := range 60 {
			all = append(all, b.deliver(fmt.Sprint("m", n), fmt.Sprintf(`{"n":%d}`, n)))
		}
		b.start(c)
		b.acked(all...)
		if got := b.count("SELECT count(*) FROM effects"); got != 54 {
			b.Errorf("%d effects of 54 good messages", got)
		}
		for n := range 60 {
			want := 0
			if n%10 == 3 {
				want = 1
			}
			if got := len(b.attempts(fmt.Sprint("m", n))); got != want {
				b.Errorf("m%d has %d attempts, want %d", n, got, want)
			}
		}
		if got := len(b.letters(dlq.Filter{Class: dlq.Permanent})); got != 6 {
			b.Errorf("%d letters", got)
		}
	})
}

// Retry now, later from the backlog, and then it works.
//
//evidence:retry
func TestTransientFailureIsRetried(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		var r runs
		seen := make(chan int, 10)
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			seen <- m.Attempt
			if r.next(m.ID) < 3 {
				return errBoom
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		b.acked(b.deliver("m", `{"n":1}`))
		b.eventually("the third run", func() bool { return b.state("m") == inbox.Done })
		if b.effects("m") != 1 || len(b.attempts("m")) != 2 {
			b.Errorf("%d effects, %d attempts", b.effects("m"), len(b.attempts("m")))
		}
		if one, two, three := <-seen, <-seen, <-seen; one != 1 || two != 2 || three != 3 {
			b.Errorf("Attempt was %d, %d, %d", one, two, three)
		}
		again := b.deliver("m", `{"n":1}`)
		b.acked(again)
		if b.effects("m") != 1 {
			b.Error("a redelivery after the retry was applied again")
		}
	})
}

// retry.After: later, at that time, by the backlog; a redelivery meanwhile is a
// duplicate.
//
//evidence:retry
func TestAfterWaitsInTheBacklog(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		var r runs
		consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error {
			r.next("m")
			return retry.After(time.Hour, errBoom)
		})
		b.start(c)
		b.acked(b.deliver("m", `{"n":1}`), b.deliver("m", `{"n":1}`))
		if b.state("m") != inbox.Waiting || r.of("m") != 1 {
			b.Errorf("state %q after %d runs", b.state("m"), r.of("m"))
		}
		depth, err := b.st.Backlog().Depth(b.Context(), "test")
		if err != nil || depth.Delayed != 1 {
			b.Errorf("backlog %+v, %v", depth, err)
		}
	})
}

// Conflict: same key, other fingerprint. A letter of its own; the first is untouched.
//
//evidence:conflict
func TestConflictIsALetterOfItsOwn(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, insert)
		b.start(c)
		b.acked(b.deliver("m", `{"n":1}`))
		b.acked(b.deliver("m", `{"n":2}`), b.deliver("m", `{"n":2}`), b.deliver("m", ` { "n": 1 } `))
		if b.effects("m") != 1 || b.state("m") != inbox.Done {
			b.Errorf("%d effects, state %q", b.effects("m"), b.state("m"))
		}
		letters := b.letters(dlq.Filter{})
		if len(letters) != 1 || letters[0].Class != dlq.Conflict || letters[0].FirstFingerprint == "" || letters[0].FirstFingerprint == letters[0].Delivery.Fingerprint {
			b.Errorf("letters %+v", letters)
		}
	})
}

// Undecodable bytes, and messages without any id, end as letters, not in a loop.
// Two of them without an id never fall together (trap: adapters' UUID "").
//
//evidence:undecodable
func TestUndecodableEndsAsLetter(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, insert)
		b.start(c)
		long := strings.Repeat("x", 2000)
		b.acked(b.deliver("a", "\xff\x00 no json"), b.deliver("", `{"n":1}`), b.deliver("", `{"n":2}`),
			b.deliver(long, `{"n":1}`), b.deliver("nul\x00", `{"n":1}`), b.deliver("empty", ""))
		letters := b.letters(dlq.Filter{Class: dlq.Undecodable})
		if len(letters) != 6 {
			b.Errorf("%d letters, want 6", len(letters))
		}
		for _, l := range letters {
			if strings.Contains(l.Error, "no json") {
				b.Errorf("the error holds the payload: %s", l.Error)
			}
		}
	})
}

// Fault 5: a panic and a Goexit are failures of the message; the process lives.
//
//evidence:panic
func TestPanicAndGoexitAreContained(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if err := insert(ctx, tx, m); err != nil {
				return err
			}
			switch m.ID {
			case "panic":
				panic("a panic of the handler")
			case "goexit":
				runtime.Goexit()
			}
			return nil
		})
		b.start(c)
		b.acked(b.deliver("panic", `{}`), b.deliver("goexit", `{}`), b.deliver("fine", `{}`))
		for _, id := range []string{"panic", "goexit"} {
			b.eventually(id, func() bool { return b.state(id) == inbox.Dead })
		}
		if b.effects("fine") != 1 || b.effects("panic")+b.effects("goexit") != 0 {
			b.Error("effects do not fit")
		}
		for _, l := range b.letters(dlq.Filter{Key: "panic"}) {
			full, err := b.st.Letters().Get(b.Context(), l.LetterID)
			if err != nil || !strings.Contains(full.Stack, "failure_test.go") {
				b.Errorf("no stack of the panic: %v %q", err, full.Stack)
			}
		}
	})
}

// ErrStale: what the handler wrote is rolled back, and the message is done.
//
//evidence:stale
func TestStaleIsDoneWithoutEffect(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		var r runs
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if err := insert(ctx, tx, m); err != nil {
				return err
			}
			if m.ID == "later" && r.next(m.ID) <= 2 {
				return errBoom // found stale by the backlog's run
			}
			return fmt.Errorf("version 3: %w", inbox.ErrStale)
		})
		b.start(c)
		b.acked(b.deliver("live", `{}`), b.deliver("later", `{}`))
		b.eventually("both are done", func() bool { return b.state("live") == inbox.Done && b.state("later") == inbox.Done })
		if b.count("SELECT count(*) FROM effects") != 0 {
			b.Error("a stale message has an effect")
		}
		for _, id := range []string{"live", "later"} {
			rows, err := b.st.Inbox().Find(b.Context(), id)
			if err != nil || !rows[0].Stale {
				b.Errorf("%s is not marked stale: %+v %v", id, rows, err)
			}
		}
	})
}

// Invariant 13 and Order: a redriven letter is handled by its handler, once.
//
//evidence:redrive
func TestRedriveGoesThroughTheInbox(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		var r runs
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if r.next(m.ID) == 1 {
				return retry.Permanent(errBoom)
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		b.acked(b.deliver("m", `{"n":1}`))
		admin := redrive.New(b.st)
		for range 2 {
			if _, err := admin.Redrive(b.Context(), redrive.Request{Filter: dlq.Filter{Key: "m"}, By: "test", Reason: "mended"}); err != nil {
				b.Fatal(err)
			}
		}
		b.eventually("it is applied", func() bool { return b.state("m") == inbox.Done })
		if b.effects("m") != 1 || r.of("m") != 2 {
			b.Errorf("%d effects, %d runs", b.effects("m"), r.of("m"))
		}
	})
}

// A failed attempt is committed before the next one starts, so that it
// counts although the process dies in the next.
//
//evidence:attempts
func TestAttemptIsCommittedBeforeTheNextStarts(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		found := make(chan int, 1)
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(_ context.Context, _ *headrace.Tx, m *headrace.Message[body]) error {
			if m.Attempt == 2 {
				list, err := b.st.Inbox().Attempts(context.Background(), inbox.ID{Scope: m.Scope, Key: m.Key})
				if err != nil {
					return err
				}
				found <- len(list)
				return nil
			}
			return errBoom
		})
		b.start(c)
		b.acked(b.deliver("m", `{}`))
		if n := <-found; n != 1 {
			b.Errorf("%d attempts are there when the second starts", n)
		}
	})
}
