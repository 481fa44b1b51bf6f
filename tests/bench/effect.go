package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/sync/errgroup"
)

// effectPart is what the handler's own statement costs, without inbox and event. A consumer
// whose handlers run such a statement for each message cannot be faster.
func effectPart(d driver) []benchmark {
	const says = "by hand: the effect alone, in transactions of up to %d messages, %d in flight: what no consumer can exceed"
	part := []benchmark{
		{part: "effect", name: "effect", says: fmt.Sprintf(says, effectGroup, 256), run: runEffect(d, 256), against: []string{"byhand"}, with: []string{"byhand"}},
		{part: "effect", name: "effect_1", says: fmt.Sprintf(says, 1, 1), run: runEffect(d, 1), against: []string{"byhand_1"}, with: []string{"byhand_1"}},
	}
	return d.named(part)
}

// effectGroup is how many messages share a transaction, and effectWorkers how many
// transactions there are at once: rates are the same with half as many and twice as many.
const (
	effectGroup   = 64
	effectWorkers = 8
)

func runEffect(d driver, inFlight int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		workers := min(effectWorkers, inFlight)
		db, err := l.openWith(d, workers)
		if err != nil {
			return Figure{}, err
		}
		defer func() { _ = db.Close() }()
		src := newSource(inFlight, newMessage)
		messages, err := src.Subscribe(ctx, ordersTopic)
		if err != nil {
			return Figure{}, err
		}
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		var group errgroup.Group
		for range workers {
			group.Go(func() error {
				err := applyEffects(ctx, db, l.query("invoice"), messages)
				stop(err)
				return err
			})
		}
		figure, err := l.load(ctx, src, a, nil)
		stop(nil)
		if err := errors.Join(group.Wait(), err); err != nil {
			return Figure{}, err
		}
		var effects, orders int
		if err := l.db.QueryRowContext(context.WithoutCancel(ctx), l.query("count_effects")).Scan(&effects, &orders); err != nil {
			return Figure{}, fmt.Errorf("verify: %w", err)
		}
		if n := src.delivered(); effects != n || orders != n {
			return Figure{}, fmt.Errorf("verify: %d messages, but %d effects of %d orders", n, effects, orders)
		}
		return figure, nil
	}
}

// applyEffects applies messages in transactions of those that are there, until ctx ends.
func applyEffects(ctx context.Context, db *sql.DB, invoice string, messages <-chan *message.Message) error {
	for {
		var group []*message.Message
		select {
		case m := <-messages:
			group = append(group, m)
		case <-ctx.Done():
			return nil
		}
		for more := true; more && len(group) < effectGroup; {
			select {
			case m := <-messages:
				group = append(group, m)
			default:
				more = false
			}
		}
		if err := applyGroup(context.WithoutCancel(ctx), db, invoice, group); err != nil {
			return err
		}
		for _, m := range group {
			m.Ack()
		}
	}
}

func applyGroup(ctx context.Context, db *sql.DB, invoice string, group []*message.Message) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	for _, m := range group {
		var o order
		if err := json.Unmarshal(m.Payload, &o); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, invoice, o.ID, o.Currency, o.TotalCents); err != nil {
			return err
		}
	}
	return tx.Commit()
}
