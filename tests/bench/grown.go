package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
)

// grownFixture is an inbox that remembers many messages, a tenth of them so old that
// retention lets them go.
var grownFixture = &fixture{
	name: "messages in the inbox",
	rows: func(l *lab) int { return l.grownRows },
	fill: fillInbox,
}

func grownPart() []benchmark {
	const inFlight = 256
	says := fmt.Sprintf("headrace: as single, %d in flight, with 10M messages in the inbox (-grown-rows)", inFlight)
	part := []benchmark{
		{name: "grown", says: says, run: runGrown(inFlight)},
		{name: "grown_prune", says: says + ", while the consumer prunes a tenth of them", run: runGrownPrune(inFlight)},
	}
	for i := range part {
		part[i].part, part[i].fixture = "grown", grownFixture
		part[i].against, part[i].with = []string{"single"}, []string{"single"}
	}
	return part
}

func runGrown(inFlight int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		// The first touch of a page after the checkpoint costs more than the later ones.
		a.warm = a.time
		return l.grown(ctx, a, inFlight, nil)
	}
}

// grown is runSingle on tables that are not empty.
func (l *lab) grown(ctx context.Context, a amount, inFlight int, configure func(*consumer.Config)) (Figure, error) {
	if _, err := l.db.ExecContext(ctx, l.query("truncate_work")); err != nil {
		return Figure{}, err
	}
	figure, n, err := l.apply(ctx, a, application{
		inFlight: inFlight, first: l.taken, configure: configure, register: l.invoices,
	})
	l.taken += uint64(n) // not to be delivered again: the inbox knows them
	if err != nil {
		return Figure{}, err
	}
	return figure, l.verify(ctx, "count_grown", n)
}

// runGrownPrune lets the consumer prune as it does by itself: its retention is set,
// and the round is due.
func runGrownPrune(inFlight int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		before, err := l.count(ctx, "count_old")
		if err != nil {
			return Figure{}, err
		}
		figure, err := l.grown(ctx, a, inFlight, func(c *consumer.Config) {
			c.Retention = inbox.Retention{SourceRetention: 24 * time.Hour}
		})
		if err != nil {
			return Figure{}, err
		}
		after, err := l.count(ctx, "count_old")
		if err != nil {
			return Figure{}, err
		}
		l.stands = "" // some are gone
		if after == before && before > 0 {
			return Figure{}, errors.New("verify: nothing was pruned meanwhile")
		}
		if after == 0 && a.messages == 0 {
			return Figure{}, errors.New("verify: the pruning ended before the measurement did: give fewer -seconds or more -grown-rows")
		}
		return figure, nil
	}
}

// count runs a query for one number.
func (l *lab) count(ctx context.Context, query string) (n int, err error) {
	if err := l.db.QueryRowContext(ctx, l.query(query)).Scan(&n); err != nil {
		return 0, fmt.Errorf("%s: %w", query, err)
	}
	return n, nil
}

// fillInbox fills the inbox by several connections at once, and makes its index last.
func fillInbox(ctx context.Context, l *lab, rows int) error {
	if _, err := l.db.ExecContext(ctx, l.query("grown_unindex")); err != nil {
		return err
	}
	const most = 250_000
	fills := make([]error, max(runtime.NumCPU(), 2))
	var workers sync.WaitGroup
	for w := range fills {
		workers.Go(func() {
			for first := w * most; first < rows && fills[w] == nil; first += len(fills) * most {
				_, fills[w] = l.db.ExecContext(ctx, l.query("grown_fill"), first, min(first+most, rows), rows/10)
			}
		})
	}
	workers.Wait()
	if err := errors.Join(fills...); err != nil {
		return err
	}
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, name := range []string{"grown_memory", "grown_index"} {
		if _, err := tx.ExecContext(ctx, l.query(name)); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = l.db.ExecContext(ctx, l.query("grown_analyze"))
	return err
}
