package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/sync/errgroup"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/ledger"
)

const (
	// stepsEach is how many calls of another system a message leads to. The calls take no
	// time: what is measured is their record.
	stepsEach = 10
	// stepsAtOnce is how many messages are worked on at once.
	stepsAtOnce = 32
)

// called is the step whose record is measured.
var called = ledger.Step[string]{Name: "call", System: "other", Recover: ledger.Retry, KeyWindow: ledger.Forever}

// stepsPart measures the ledger beside the two commits for each call that a careful team
// writes by hand.
func stepsPart(d driver) []benchmark {
	says := fmt.Sprintf("%d calls of another system for each message, which take no time, %d messages at once", stepsEach, stepsAtOnce)
	return d.named([]benchmark{
		{part: "steps", name: "steps_byhand", says: "by hand: a commit before and one after each of " + says, run: runStepsByhand(d)},
		{
			part: "steps", name: "steps_byhand_leased", says: "the same two commits by hand in a leased handler, until all are applied: " + says,
			run: runStepsLeased(d),
		},
		{
			part: "steps", name: "steps", says: "headrace: steps of a leased handler, until all are applied: " + says,
			run: runSteps(d), against: []string{"steps_byhand", "steps_byhand_leased"}, with: []string{"steps_byhand", "steps_byhand_leased"},
		},
		{
			part: "steps", name: "steps_replayed", run: runReplay(d),
			says: fmt.Sprintf("steps that are done when their message runs again, %d of each, one message at once; p50 and p99 of a message", replayed),
		},
	})
}

func runSteps(d driver) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		figure, n, err := l.leased(ctx, a, d, func(ctx context.Context, _ *order) error {
			for i := range stepsEach {
				if _, err := called.Of(strconv.Itoa(i)).Do(ctx, func(context.Context, *ledger.Call) (string, error) { return "made", nil }); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return Figure{}, err
		}
		return figure, l.verifySteps(ctx, n, 0)
	}
}

func runStepsLeased(d driver) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		db, err := l.openWith(d, conns)
		if err != nil {
			return Figure{}, err
		}
		defer func() { _ = db.Close() }()
		figure, n, err := l.leased(ctx, a, d, func(ctx context.Context, o *order) error { return l.callsByhand(ctx, db, o.ID) })
		if err != nil {
			return Figure{}, err
		}
		return figure, l.verifySteps(ctx, 0, n)
	}
}

// leased measures a leased handler that makes calls for each message, and returns how many
// messages there were.
func (l *lab) leased(ctx context.Context, a amount, d driver, calls func(context.Context, *order) error) (Figure, int, error) {
	effects := invoicing(l.query("invoice"), 0)
	work := func(ctx context.Context, m *headrace.Message[order]) (headrace.Effects, error) {
		if err := calls(ctx, &m.Body); err != nil {
			return nil, err
		}
		return func(ctx context.Context, tx *headrace.Tx) error { return effects(ctx, tx, m) }, nil
	}
	figure, n, err := l.apply(ctx, a, application{
		inFlight: 256, window: 1000, untilApplied: true, open: l.storeWith(d),
		register: func(c *consumer.Consumer) {
			consumer.HandleLeased(c, ordersTopic, work, consumer.Steps(called), consumer.Concurrency(stepsAtOnce))
		},
	})
	if err != nil {
		return Figure{}, 0, err
	}
	return figure, n, l.verify(ctx, "count_headrace", n)
}

func runStepsByhand(d driver) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		db, err := l.openWith(d, conns)
		if err != nil {
			return Figure{}, err
		}
		defer func() { _ = db.Close() }()
		src := newSource(stepsAtOnce, newMessage)
		messages, err := src.Subscribe(ctx, ordersTopic)
		if err != nil {
			return Figure{}, err
		}
		stop := make(chan struct{})
		var workers errgroup.Group
		for range stepsAtOnce {
			workers.Go(func() error { return stepsByhand(ctx, db, l, messages, stop) })
		}
		figure, err := l.load(ctx, src, a, nil)
		close(stop)
		if err := errors.Join(workers.Wait(), err); err != nil {
			return Figure{}, err
		}
		return figure, l.verifySteps(ctx, 0, src.delivered())
	}
}

// stepsByhand records the calls of messages until stop is closed.
func stepsByhand(ctx context.Context, db *sql.DB, l *lab, messages <-chan *message.Message, stop <-chan struct{}) (failed error) {
	for {
		select {
		case m := <-messages:
			failed = errors.Join(failed, l.callsByhand(ctx, db, m.UUID))
			m.Ack()
		case <-stop:
			return failed
		}
	}
}

// callsByhand records the calls of one message.
func (l *lab) callsByhand(ctx context.Context, db *sql.DB, id string) error {
	for i := range stepsEach {
		step := strconv.Itoa(i)
		if _, err := db.ExecContext(ctx, l.query("step_begin"), id, step); err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, l.query("step_end"), id, step, "made"); err != nil {
			return err
		}
	}
	return nil
}

// verifySteps returns an error unless each message has all its steps.
func (l *lab) verifySteps(ctx context.Context, headrace, byhand int) error {
	var ours, theirs int
	if err := l.db.QueryRowContext(ctx, l.query("count_steps")).Scan(&ours, &theirs); err != nil {
		return err
	}
	if ours != headrace*stepsEach || theirs != byhand*stepsEach {
		return fmt.Errorf("verify: %d steps are done, and %d by hand; want %d and %d", ours, theirs, headrace*stepsEach, byhand*stepsEach)
	}
	return nil
}
