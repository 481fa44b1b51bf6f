package regress

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

// leftOpen are things that a handler may forget to close as its last act.
var leftOpen = []struct {
	name string
	open func(ctx context.Context, tx *headrace.Tx, query string) error
}{
	{"rows", func(ctx context.Context, tx *headrace.Tx, query string) error {
		rows, err := tx.QueryContext(ctx, query)
		if err == nil && !rows.Next() {
			return rows.Err()
		}
		return err
	}},
	{"row", func(ctx context.Context, tx *headrace.Tx, query string) error {
		return tx.QueryRowContext(ctx, query).Err()
	}},
	{"rows of a query with arguments", func(ctx context.Context, tx *headrace.Tx, query string) error {
		_, err := tx.QueryContext(ctx, query+" WHERE n > $1", 3)
		return err
	}},
	{"statement", func(ctx context.Context, tx *headrace.Tx, query string) error {
		statement, err := tx.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		var n int
		return statement.QueryRowContext(ctx).Scan(&n)
	}},
}

// A handler may return with rows, a row or a statement open: they are closed for it. It is
// applied, and so are all others, each at its first run.
//
// Without that the next statement on the connection failed. Neighbours became dead
// letters, other messages waited without end behind a handler with Alone or in the shard
// of the backlog, and effects under a lease ran again and again without an attempt.
//
//evidence:open-rows
func TestHandlerLeavesRowsOpen(t *testing.T) {
	t.Parallel()
	for _, left := range leftOpen {
		t.Run(left.name, func(t *testing.T) {
			onEachWay(t, onEachStore, everyWay, func(f *fixture, w way) {
				f.exec("CREATE TABLE numbers (n INTEGER)")
				f.exec("INSERT INTO numbers (n) WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) SELECT n FROM c")
				const culprit, n = "m3", 10
				var seen runs
				config := f.configOf(w)
				config.Concurrency = 1
				_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					seen.next(m.ID)
					err := insert(ctx, tx, m)
					if err == nil && m.ID == culprit {
						err = left.open(ctx, tx, "SELECT n FROM numbers")
					}
					return err
				})
				f.acked(all...)
				f.appliedOnce(series("m", n)...)
				f.noLetters()
				for _, id := range series("m", n) {
					if got := seen.of(id); got != 1 {
						f.Errorf("%s ran %d times", id, got)
					}
				}
			})
		})
	}
}

// The rule holds for a batch handler too.
//
//evidence:open-rows
func TestBatchHandlerLeavesRowsOpen(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		c := f.consumer(f.st, f.config())
		consumer.HandleBatch(c, topic, func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[body]) error {
			for _, m := range ms {
				if err := insert(ctx, tx, m); err != nil {
					return err
				}
			}
			_, err := tx.QueryContext(ctx, "SELECT msg FROM effects")
			return err
		})
		f.start(c)
		var all []*message.Message
		for i, id := range series("m", 50) {
			all = append(all, f.deliver(id, i))
		}
		f.acked(all...)
		f.appliedOnce(series("m", 50)...)
		f.noLetters()
	})
}
