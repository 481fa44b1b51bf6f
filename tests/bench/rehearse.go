package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/rehearsal"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// rehearsePart measures live messages beside a rehearsal of the same handler in the same process.
// Parts with and without one alternate.
func rehearsePart() []benchmark {
	const says = "headrace: a handler with one statement and one event, 8 in flight, while it is rehearsed on 100 letters: p99, and beside it that without a rehearsal"
	return []benchmark{
		{part: "rehearse", name: "rehearsed", says: says, run: func(ctx context.Context, l *lab, a amount) (Figure, error) {
			figure, n, err := l.rehearsed(ctx, a, l.openStore, l.invoices)
			if err != nil {
				return Figure{}, err
			}
			return figure, l.verify(ctx, "count_headrace", n)
		}},
		{part: "rehearse", name: "sqlite_rehearsed", says: says + ", on SQLite", run: func(ctx context.Context, l *lab, a amount) (Figure, error) {
			return l.onSQLite(ctx, func(path string) (Figure, int, error) {
				return l.rehearsed(ctx, a, openSQLite(path), func(c *consumer.Consumer) { handleSingly(c, l.query("sqlite_invoice")) })
			})
		}},
	}
}

// rehearsed returns the figure of the live messages that were handled beside rehearsals, and how many
// were delivered in all.
func (l *lab) rehearsed(ctx context.Context, a amount, open func(context.Context) (opened, error), register func(*consumer.Consumer)) (figure Figure, delivered int, err error) {
	st, err := open(ctx)
	if err != nil {
		return Figure{}, 0, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := deadLetters(ctx, st, rehearsal.Most); err != nil {
		return Figure{}, 0, err
	}
	src := newSource(8, newMessage)
	err = l.consume(ctx, consumption{
		src: src, open: open, register: register,
		configure: func(c *consumer.Config) { c.Rehearsable = true },
		drive: func(ctx context.Context, abandoned <-chan struct{}) (err error) {
			figure, err = l.alternate(ctx, st, src, a, abandoned)
			return err
		},
	})
	return figure, src.delivered(), err
}

// deadLetters writes letters of the handler, whose messages it would apply.
func deadLetters(ctx context.Context, st opened, n int) error {
	return store.Transact(ctx, st, func(t *txn.Txn) error {
		var letters []dlq.Letter
		var claims []inbox.Claim
		var dead []inbox.ID
		for i := range n {
			m := newMessage(uint64(1<<32 + i))
			letters = append(letters, dlq.Letter{
				Class: dlq.Permanent, Consumer: "billing", Handler: ordersTopic, Error: "broken", ErrorFingerprint: "0123456789abcdef", Build: "v0",
				Delivery: headrace.Delivery{Scope: "billing/" + ordersTopic, Key: m.UUID, ID: m.UUID, Fingerprint: "f", Topic: ordersTopic, Payload: m.Payload},
			})
			claims, dead = append(claims, inbox.Claim{ID: letters[i].ID(), Fingerprint: "f"}), append(dead, letters[i].ID())
		}
		if _, err := st.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: claims}); err != nil {
			return err
		}
		if _, err := st.Inbox().Transition(ctx, t, dead, inbox.Done, inbox.Dead); err != nil {
			return err
		}
		_, err := st.Letters().Insert(ctx, t, letters)
		return err
	})
}

// slice is how long messages are delivered between two looks at a rehearsal.
const slice = 50 * time.Millisecond

// alternate delivers messages beside a rehearsal and without one, by turns and for the same time.
func (l *lab) alternate(ctx context.Context, st opened, src *source, a amount, abandoned <-chan struct{}) (Figure, error) {
	o := st.Operations()
	asker := instance.Asker{Requests: o.Requests, Instances: o.Instances}
	args := rehearsal.Args{Count: rehearsal.Most, Filter: dlq.Filter{Handler: ordersTopic, ErrorFingerprint: "0123456789abcdef"}}
	r, err := instance.Request{Kind: rehearsal.Kind, Consumer: "billing", By: "bench"}.With(args)
	if err != nil {
		return Figure{}, err
	}
	part := amount{time: slice}
	if a.messages > 0 {
		part = amount{messages: src.inFlight}
	}
	var forget, plain, beside histogram
	feed := func(h *histogram) (int, error) { return src.feedAmount(ctx, part, h, abandoned) }
	if _, err := feed(&forget); err != nil {
		return Figure{}, err
	}
	count := 0
	watch := l.startWatch(ctx)
	for time.Since(watch.began) < a.time || count == 0 {
		id, err := asker.Start(ctx, r, instance.Valid)
		if errors.Is(err, instance.ErrNoAnswer) {
			continue // the consumer starts
		}
		slices := 0
		for done := false; err == nil && !done; {
			var answer instance.Answer
			_, answer, done, err = asker.Look(ctx, id)
			switch {
			case err != nil:
			case done:
				err = allPass(answer)
			case answer.State == instance.RequestTaken:
				var n int
				n, err = feed(&beside)
				count, slices = count+n, slices+1
			default:
				_, err = feed(&forget)
			}
		}
		for range slices {
			if err == nil {
				_, err = feed(&plain)
			}
		}
		if err != nil {
			return Figure{}, err
		}
	}
	figure := watch.figure(ctx, a.or(count), &beside)
	figure.Beside = float64(plain.percentile(0.99)) / float64(time.Millisecond)
	return figure, nil
}

// allPass proves that the handler was rehearsed on all letters, and would have applied them.
func allPass(a instance.Answer) error {
	var report rehearsal.Report
	if err := a.Read(&report); err != nil {
		return err
	}
	if i := slices.IndexFunc(report.Results, func(r rehearsal.Result) bool { return r.Outcome != rehearsal.Passes }); i >= 0 {
		return fmt.Errorf("verify: a letter would not pass: %+v", report.Results[i])
	}
	if report.Pass+report.NotReached != rehearsal.Most {
		return fmt.Errorf("verify: %d letters were rehearsed, and %d were not reached", report.Pass, report.NotReached)
	}
	return nil
}
