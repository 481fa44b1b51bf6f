package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store"
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
//
//evidence:frozen-stop
func TestStopWhileTheNetworkIsFrozen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver string
		hangs  bool // statements that cannot be cut
	}{{"open", false}, {"pgx", false}, {"postgres", true}} {
		t.Run(c.driver, func(t *testing.T) {
			t.Parallel() // they wait, most of the time
			b, dsn, schema := newPostgres(t, "postgres")
			stopFrozen(b, c.driver, dsn, schema, c.hangs)
			if !t.Failed() {
				finish(b, schema)
			}
		})
	}
}

// many is how many messages there are.
const many = 400

// give delivers all of them.
func (b *bundle) give() {
	for i := range many {
		b.deliver(fmt.Sprint("m", i), fmt.Sprintf(`{"n":%d}`, i))
	}
}

// publishing is a consumer with everything that asks the database.
func (b *bundle) publishing(st store.Store, drain time.Duration) *consumer.Consumer {
	b.Helper()
	config := b.config()
	config.DrainTimeout, config.Sink = drain, new(counting)
	config.Alert = func(context.Context, alerts.Alert) error { return nil }
	c, err := consumer.New("test", st, config)
	if err != nil {
		b.Fatal(err)
	}
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if m.Body.N%10 == 9 && m.Attempt < 3 {
			return errBoom // some for the backlog
		}
		if err := tx.Publish(headrace.Event{Topic: "invoices", Value: m.Body.N}); err != nil {
			return err
		}
		return insert(ctx, tx, m)
	})
	return c
}

// stopFrozen stops a consumer in the middle of its work on a network that is frozen, and
// closes its store.
func stopFrozen(b *bundle, driver, dsn, schema string, hangs bool) {
	network, through := pgtest.NewProxy(b.T, dsn)
	st := behind(b.T, driver, through, schema)
	b.start(b.publishing(st, time.Second))
	b.give()
	b.eventually("traffic", func() bool { return b.count("SELECT count(*) FROM effects") >= 100 })
	network.Freeze()
	time.Sleep(300 * time.Millisecond) // a fault that lasts: everything comes to hang in it
	start := time.Now()
	dump := make(chan []byte, 1) // what still runs shortly before the stop gives up
	late := time.AfterFunc(15*time.Second, func() {
		stacks := make([]byte, 4<<20)
		dump <- stacks[:runtime.Stack(stacks, true)]
	})
	err := b.halt()
	took := time.Since(start)
	var stacks []byte
	if !late.Stop() {
		stacks = <-dump
	}
	b.Logf("Run took %s: %v", took.Round(time.Millisecond), err)
	if took > 55*time.Second {
		b.Errorf("Run returned after %s", took)
	}
	if errors.Is(err, consumer.ErrDrainTimeout) != hangs {
		b.Errorf("Run: %v\n%s", err, stacks)
	}
	if !hangs {
		start = time.Now()
		_ = st.Close()
		if took := time.Since(start); took > 8*time.Second {
			b.Errorf("Close returned after %s", took)
		}
	}
	network.Thaw()
	if err := st.Close(); err != nil && hangs {
		b.Error(err)
	}
}

// finish has another process handle all of the messages: the broker delivers again what
// was not acknowledged, and here the others too.
func finish(b *bundle, schema string) {
	b.src = memsource.New()
	b.start(b.publishing(b.st, 20*time.Second))
	b.give()
	b.eventually("all are applied", func() bool { return b.count("SELECT count(DISTINCT msg) FROM effects") == many })
	b.eventually("the outbox is empty", func() bool { return b.count(`SELECT count(*) FROM "`+schema+`".headrace_outbox`) == 0 })
	if err := b.halt(); err != nil {
		b.Error(err)
	}
	if rows := b.count("SELECT count(*) FROM effects"); rows != many {
		b.Errorf("%d effects of %d messages", rows, many)
	}
}

// A network that is frozen for longer than a handler has is no failure of a message: it
// is applied after the thaw, and so is one that is run from the backlog.
//
//evidence:outage
func TestFrozenNetworkSpendsNoAttempt(t *testing.T) {
	t.Parallel()
	b, dsn, schema := newPostgres(t, "postgres")
	network, through := pgtest.NewProxy(t, dsn)
	st := behind(t, "open", through, schema)
	t.Cleanup(func() { _ = b.halt(); _ = st.Close() })
	config := b.config()
	config.HandlerTimeout = time.Second
	config.Retry = quick
	config.Retry.MaxAttempts, config.Retry.Immediate = 2, 0
	c, err := consumer.New("test", st, config)
	if err != nil {
		t.Fatal(err)
	}
	var froze sync.Map
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if m.ID == "backlog" && m.Attempt == 1 {
			return errBoom
		}
		if _, again := froze.LoadOrStore(m.ID, true); !again {
			network.Freeze()
		}
		return insert(ctx, tx, m)
	})
	b.start(c)
	for _, id := range []string{"live", "backlog"} {
		m := b.deliver(id, `{}`)
		b.eventually(id+" runs on a frozen network", func() bool { _, ok := froze.Load(id); return ok })
		b.eventually("the consumer sees it", func() bool { return c.Ready() != nil })
		network.Thaw()
		b.acked(m)
		b.eventually(id+" is applied", func() bool { return b.effects(id) == 1 })
	}
	for id, spent := range map[string]int{"live": 0, "backlog": 1} {
		if list := b.attempts(id); len(list) != spent {
			t.Errorf("attempts of %s: %+v, want %d", id, list, spent)
		}
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
