package sqlops

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Subscriptions implements outbox.Subscriptions.
type Subscriptions struct {
	sqlrun.Table[struct {
		Subscribe, List, Sweep, SweepHeld, Move, MoveOwner, MoveTwice, MoveTwiceHeld, MoveRows, MoveRowsHeld, Remove, RemoveRows, RemoveRowsHeld string

		Runs, Handled, Published, LocalGone, LocalGoneHeld, LocalRefused, LocalRows, LocalDelayed string

		Record string `sql:"audit_record"`

		LockShards, LocalRefusedGone, SweepCopy, SweepCopyHeld string `sql:"optional"`
	}]
	// Schema is the schema's name, for the numbers of locks.
	Schema string
}

// sweepRows is how many rows one sweep moves from each table.
const sweepRows = 500

func (s *Subscriptions) Subscribe(ctx context.Context, topics map[string][]string) (err error) {
	defer sqlrun.Wrap("subscribe", &err)
	for consumer, list := range topics {
		if err := cmp.Or(encode.ConsumerName(consumer), sqlrun.Identity(list...)); err != nil {
			return err
		}
	}
	return s.Transact(ctx, func(t *txn.Txn) error {
		for _, consumer := range slices.Sorted(maps.Keys(topics)) { // so that two processes do not deadlock
			list := slices.Compact(slices.Sorted(slices.Values(topics[consumer])))
			if err := sqlrun.Steps(ctx, t, append(s.Many(list), consumer), s.SQL.Subscribe); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Subscriptions) Sweep(ctx context.Context) (n int, err error) {
	defer sqlrun.Wrap("move events to new subscriptions", &err)
	err = s.Transact(ctx, func(t *txn.Txn) error {
		for _, statements := range [][]string{{s.SQL.SweepCopy, s.SQL.Sweep}, {s.SQL.SweepCopyHeld, s.SQL.SweepHeld}} {
			if err := sqlrun.Steps(ctx, t, []any{sweepRows}, statements[0]); err != nil {
				return err
			}
			moved, err := sqlrun.Affected(t.ExecContext(ctx, statements[1], sweepRows))
			if err != nil {
				return err
			}
			n += moved
		}
		return nil
	})
	return n, err
}

func (s *Subscriptions) Localize(ctx context.Context, name string, topics []string, by string) (unclaimed, gone int, err error) {
	defer sqlrun.Wrap("make events local", &err)
	if err := sqlrun.Identity(append(topics, name)...); err != nil {
		return 0, 0, err
	}
	err = s.Transact(ctx, func(t *txn.Txn) error {
		free, err := s.lock(ctx, t, name)
		if err != nil {
			return err
		}
		var published bool
		if err := t.QueryRowContext(ctx, s.SQL.Published, name, sqlrun.Micros(instance.Missed)).Scan(&published); err != nil {
			return err
		}
		if published || !free {
			return outbox.ErrPublished
		}
		args := append(s.Many(append([]string{}, topics...)), name)
		if gone, err = total(ctx, t, args, s.SQL.LocalGone, s.SQL.LocalGoneHeld); err != nil {
			return err
		}
		refused, err := total(ctx, t, args, s.SQL.LocalRefused)
		if err != nil {
			return err
		}
		if err := sqlrun.Steps(ctx, t, args, s.SQL.LocalRefusedGone); err != nil {
			return err
		}
		unclaimed, err = total(ctx, t, args, s.SQL.LocalRows, s.SQL.LocalDelayed)
		if unclaimed += refused; err != nil || unclaimed+gone == 0 {
			return err
		}
		return s.record(ctx, t, audit.Outbox, name, "local", by, fmt.Sprintf("%d events, and %d removed that subscribers have got%s", unclaimed, gone, ofTopics(topics)))
	})
	if err != nil {
		return 0, 0, err
	}
	return unclaimed, gone, nil
}

func (s *Subscriptions) List(ctx context.Context, consumer string) (list []outbox.Subscription, err error) {
	defer sqlrun.Wrap("list subscriptions", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.List, []any{consumer}, func(o *outbox.Subscription) []any {
		return []any{&o.Topic, &o.Consumer, (*sqlrun.Instant)(&o.Created), (*sqlrun.Span)(&o.Age)}
	})
}

func (s *Subscriptions) Move(ctx context.Context, from, to, by string) (changed outbox.Changed, err error) {
	defer sqlrun.Wrap("move subscriptions", &err)
	if err := cmp.Or(encode.ConsumerName(from), encode.ConsumerName(to)); err != nil {
		return changed, err
	}
	if from == to {
		return changed, nil
	}
	err = s.Transact(ctx, func(t *txn.Txn) (err error) {
		if err := s.ended(ctx, t, from); err != nil {
			return err
		}
		args := []any{from, to}
		if err := sqlrun.Steps(ctx, t, args, s.SQL.Move, s.SQL.MoveOwner); err != nil {
			return err
		}
		if changed.Subscriptions, err = sqlrun.Affected(t.ExecContext(ctx, s.SQL.Remove, append(s.Many([]string{}), from)...)); err != nil {
			return err
		}
		if err := sqlrun.Steps(ctx, t, args, s.SQL.MoveTwice, s.SQL.MoveTwiceHeld); err != nil {
			return err
		}
		if changed.Rows, err = total(ctx, t, args, s.SQL.MoveRows, s.SQL.MoveRowsHeld); err != nil || changed == (outbox.Changed{}) {
			return err
		}
		return s.record(ctx, t, audit.Consumer, from, "move", by, fmt.Sprintf("to %s: %d subscriptions, %d events", to, changed.Subscriptions, changed.Rows))
	})
	return changed, err
}

// ended returns outbox.ErrRuns if a process may work on the line of consumer, and otherwise
// keeps others from it until t ends.
func (s *Subscriptions) ended(ctx context.Context, t *txn.Txn, consumer string) error {
	if err := s.idle(ctx, t, consumer); err != nil {
		return err
	}
	free, err := s.lock(ctx, t, outbox.LineOf(consumer))
	if err == nil && !free {
		err = outbox.ErrRuns
	}
	return err
}

// idle returns outbox.ErrRuns if a process of consumer runs.
func (s *Subscriptions) idle(ctx context.Context, t *txn.Txn, consumer string) error {
	var runs bool
	err := t.QueryRowContext(ctx, s.SQL.Runs, consumer, sqlrun.Micros(instance.Missed)).Scan(&runs)
	if err == nil && runs {
		err = outbox.ErrRuns
	}
	return err
}

// unhandled returns outbox.ErrRuns if a process of consumer runs, and one has a handler for one
// of the subscriptions that args name. Otherwise none can record one until t ends. It
// looks for processes after that: each is recorded before its handlers are.
func (s *Subscriptions) unhandled(ctx context.Context, t *txn.Txn, args []any, consumer string) error {
	var handled bool
	if err := t.QueryRowContext(ctx, s.SQL.Handled, append(args, sqlrun.Micros(outbox.Unseen))...).Scan(&handled); err != nil || !handled {
		return err
	}
	return s.idle(ctx, t, consumer)
}

// lock takes all shards of an outbox or a line for t, without waiting, and reports whether
// it got them. There is no statement if a transaction has the whole database.
func (s *Subscriptions) lock(ctx context.Context, t *txn.Txn, name string) (free bool, err error) {
	if s.SQL.LockShards == "" {
		return true, nil
	}
	locks := make([]int64, outbox.Shards)
	for n := range locks {
		locks[n] = shard.Lock("outbox", s.Schema, name, strconv.Itoa(n))
	}
	err = t.QueryRowContext(ctx, s.SQL.LockShards, s.Many(locks)...).Scan(&free)
	return free, err
}

func (s *Subscriptions) Remove(ctx context.Context, consumer string, topics []string, rows bool, by string) (changed outbox.Changed, err error) {
	defer sqlrun.Wrap("remove subscriptions", &err)
	if err := cmp.Or(encode.ConsumerName(consumer), sqlrun.Identity(topics...)); err != nil {
		return changed, err
	}
	args := append(s.Many(append([]string{}, topics...)), consumer)
	err = s.Transact(ctx, func(t *txn.Txn) (err error) {
		if err := s.unhandled(ctx, t, args, consumer); err != nil {
			return err
		}
		if changed.Subscriptions, err = sqlrun.Affected(t.ExecContext(ctx, s.SQL.Remove, args...)); err != nil {
			return err
		}
		changed.Rows, err = total(ctx, t, args, s.SQL.RemoveRows, s.SQL.RemoveRowsHeld)
		if err == nil && changed.Rows > 0 && !rows {
			err = outbox.ErrRowsWait // and the transaction is rolled back
		}
		if err != nil || changed == (outbox.Changed{}) {
			return err
		}
		return s.record(ctx, t, audit.Consumer, consumer, "unsubscribe", by,
			fmt.Sprintf("%d subscriptions, with %d events%s", changed.Subscriptions, changed.Rows, ofTopics(topics)))
	})
	return changed, err
}

// record writes who changed subscriptions, in t.
func (s *Subscriptions) record(ctx context.Context, t *txn.Txn, kind, subject, action, by, detail string) error {
	_, err := t.ExecContext(ctx, s.SQL.Record, sqlrun.Recorded(audit.Row{Kind: kind, Subject: subject, Action: action, By: by, Detail: detail})...)
	return err
}

// ofTopics ends the detail of a change to these topics, or to all.
func ofTopics(topics []string) string {
	if len(topics) == 0 {
		return ", of all topics"
	}
	return ", of " + strings.Join(topics, ", ")
}

// total returns how many rows the statements changed.
func total(ctx context.Context, t *txn.Txn, args []any, queries ...string) (sum int, err error) {
	for _, query := range queries {
		n, err := sqlrun.Affected(t.ExecContext(ctx, query, args...))
		if err != nil {
			return sum, err
		}
		sum += n
	}
	return sum, nil
}
