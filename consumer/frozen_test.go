package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store/postgres"
)

// counting is a sink that counts.
type counting struct{ n atomic.Int64 }

func (c *counting) Publish(_ string, ms ...*message.Message) error {
	c.n.Add(int64(len(ms)))
	return nil
}

func (*counting) Close() error { return nil }

// INVARIANTS 23, Shutdown, with the network to PostgreSQL frozen both ways: whatever
// hangs, groups, drain, relay, alerts, heartbeat and pauses, Run returns within its
// bound. After the thaw another process finishes, and each effect is there once.
func TestStopWhileTheNetworkIsFrozen(t *testing.T) {
	for _, c := range []struct {
		driver string
		hangs  bool // statements that nobody can cut
	}{{"open", false}, {"pgx", false}, {"postgres", true}} {
		t.Run(c.driver, func(t *testing.T) {
			t.Parallel()
			dsn, schema := pgtest.New(t)
			db := pgtest.OpenDB(t, "postgres", dsn)
			direct, err := postgres.New(t.Context(), db, postgres.Options{Schema: schema, Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = direct.Close() })
			b := newBundle(t, direct, db)
			network, through := pgtest.NewProxy(t, dsn)
			st := behind(t, c.driver, through, schema)
			config := b.config()
			config.DrainTimeout, config.Sink = time.Second, new(counting)
			config.Alert = func(context.Context, alerts.Alert) error { return nil }
			traffic := func(c *consumer.Consumer) {
				consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					if m.Body.N%10 == 9 && m.Attempt < 3 {
						return errBoom // some for the backlog
					}
					if err := tx.Publish(headrace.Event{Topic: "invoices", Value: m.Body.N}); err != nil {
						return err
					}
					return insert(ctx, tx, m)
				})
			}
			first, err := consumer.New("test", st, config)
			if err != nil {
				t.Fatal(err)
			}
			traffic(first)
			b.start(first)
			const n = 5000
			give := func() {
				for i := range n {
					b.deliver(fmt.Sprint("m", i), fmt.Sprintf(`{"n":%d}`, i))
				}
			}
			give()
			b.eventually("traffic", func() bool { return b.count("SELECT count(*) FROM effects") >= 200 })
			network.Freeze()
			time.Sleep(300 * time.Millisecond) // a fault that lasts: everything comes to hang in it
			start := time.Now()
			err = b.halt()
			took := time.Since(start)
			t.Logf("Run took %s: %v", took.Round(time.Millisecond), err)
			if took > 55*time.Second {
				t.Errorf("Run returned after %s", took)
			}
			if hung := errors.Is(err, consumer.ErrDrainTimeout); hung != c.hangs {
				t.Errorf("Run: %v", err)
			}
			if !c.hangs {
				start = time.Now()
				_ = st.Close()
				if took := time.Since(start); took > 8*time.Second {
					t.Errorf("Close returned after %s", took)
				}
			}
			network.Thaw()
			if err := st.Close(); err != nil && c.hangs {
				t.Error(err)
			}

			config.DrainTimeout, config.Source = 20*time.Second, memsource.New()
			b.src = config.Source.(*memsource.Source)
			second := b.consumer(config)
			traffic(second)
			b.start(second)
			give() // the broker delivers again what was not acknowledged, and more
			b.eventually("all are applied", func() bool { return b.count("SELECT count(DISTINCT msg) FROM effects") == n })
			b.eventually("the outbox is empty", func() bool { return b.count(`SELECT count(*) FROM "`+schema+`".headrace_outbox`) == 0 })
			if err := b.halt(); err != nil {
				t.Error(err)
			}
			if rows := b.count("SELECT count(*) FROM effects"); rows != n {
				t.Errorf("%d effects of %d messages", rows, n)
			}
		})
	}
}

// behind is a store of that driver on a network that can freeze.
func behind(t *testing.T, driver, dsn, schema string) (st *postgres.Store) {
	t.Helper()
	o := postgres.Options{Schema: schema}
	var err error
	if driver == "open" {
		st, err = postgres.Open(t.Context(), dsn, o)
	} else {
		st, err = postgres.New(t.Context(), pgtest.OpenDB(t, driver, dsn), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return st
}
