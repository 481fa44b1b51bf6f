package kafka_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/kafka"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store/postgres"
)

// TRAPS, kafka: two owners after a rebalance. The group takes a member for dead whose
// handler is in its transaction, and gives the record to another one. That one waits for
// the first transaction and then finds the record applied; the late acknowledgement of the
// first one counts for nothing. Guards: the inbox, whose key is the record's place; the
// message's context, which ends with the partition, is not the handler's.
func TestTwoOwners(t *testing.T) {
	b := setup(t, 1)
	db := pgtest.Open(t)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE effects (n int)"); err != nil {
		t.Fatal(err)
	}
	b.fill(1)
	wire := newWire(t, b.addr)
	var runs atomic.Int32
	entered, release := make(chan struct{}), make(chan struct{})
	b.owner(db, b.source(func(o *kafka.SourceOptions) {
		o.Client, o.SessionTimeout = append(o.Client, through(wire.addr())), session
	}), func(ctx context.Context, tx *headrace.Tx, _ *headrace.Message[int]) error {
		runs.Add(1)
		_, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES (1)")
		close(entered)
		<-release
		return err
	})
	select {
	case <-entered:
	case <-time.After(waitTimeout):
		t.Fatal("the first handler does not run")
	}
	wire.cut()
	second := b.owner(db, b.source(nil), func(ctx context.Context, tx *headrace.Tx, _ *headrace.Message[int]) error {
		runs.Add(1)
		_, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES (2)")
		return err
	})
	b.eventually("the second owner has the record", func() (string, bool) {
		n := second.Stats().InFlight
		return "", n > 0
	})
	close(release)
	b.committed(1) // by the second
	wire.mend()
	var effects, by int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*), max(n) FROM effects").Scan(&effects, &by); err != nil {
		t.Fatal(err)
	}
	if effects != 1 || by != 1 || runs.Load() != 1 || second.Stats().Duplicates != 1 {
		t.Errorf("%d effects, the last by owner %d, after %d runs; %+v", effects, by, runs.Load(), second.Stats())
	}
}

// owner is the consumer of one process, which runs until the test ends.
func (b *bundle) owner(db *pgtest.DB, source *kafka.Source, h consumer.Func[int]) *consumer.Consumer {
	b.Helper()
	st, err := postgres.Open(b.Context(), db.DSN, postgres.Options{Schema: db.Schema, Migrate: true})
	if err != nil {
		b.Fatal(err)
	}
	c, err := consumer.New("owners", st, consumer.Config{Source: source, Logger: b.sourceOptions("").Logger, HandlerTimeout: 2 * waitTimeout})
	if err != nil {
		b.Fatal(err)
	}
	consumer.Handle(c, b.topic, h)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.Errorf("Run: %v", err)
		}
		if err := st.Close(); err != nil {
			b.Errorf("close the store: %v", err)
		}
	})
	return c
}
