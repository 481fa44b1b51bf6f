package consumer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// ofCustomer takes the order key from a header.
func ofCustomer(d *headrace.Delivery) string { return d.Metadata["customer"] }

func (b *bundle) deliverFor(customer, id string, n int) *message.Message {
	return b.src.Deliver(topic, id, fmt.Appendf(nil, `{"n":%d}`, n), map[string]string{"customer": customer})
}

// sequence reads the effects of a customer in the order in which they were written.
func (b *bundle) sequence(customer string) []int {
	b.Helper()
	rows, err := b.db.Query("SELECT seq FROM lists WHERE customer = $1 ORDER BY pos", customer)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var list []int
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			b.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// appendTo appends the message to its customer's list: a lost update, a duplicate
// and an inversion all show in it (the list-append workload).
func appendTo(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO lists (customer, pos, seq) SELECT $1, count(*), $2 FROM lists WHERE customer = $1",
		m.Metadata["customer"], m.Body.N)
	return err
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// Order, invariant 9: effects per key in source order. A message that fails is overtaken,
// and by no more than its retries.
//
//evidence:order
func TestOrderPerKeyInOneProcess(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		b.exec("CREATE TABLE lists (customer TEXT, pos INTEGER, seq INTEGER)")
		var r runs
		config := b.config()
		config.OrderKey, config.MaxBatch = ofCustomer, 16
		config.Retry = retry.Policy{MaxAttempts: 10, Immediate: 9}
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.Body.N%7 == 3 && r.next(m.ID) < 3 {
				return errBoom
			}
			return appendTo(ctx, tx, m)
		})
		b.start(c)
		var all []*message.Message
		for n := range 40 {
			for customer := range 8 {
				all = append(all, b.deliverFor(fmt.Sprint("c", customer), fmt.Sprintf("c%d-%d", customer, n), n))
			}
		}
		b.acked(all...)
		b.eventually("all are applied", func() bool { return b.count("SELECT count(*) FROM lists") == len(all) })
		for customer := range 8 {
			got := b.sequence(fmt.Sprint("c", customer))
			kept := slices.DeleteFunc(slices.Clone(got), func(n int) bool { return n%7 == 3 })
			if !slices.IsSorted(kept) {
				b.Errorf("customer %d: %v", customer, got)
			}
			if slices.Sort(got); !slices.Equal(got, upTo(40)) {
				b.Errorf("customer %d: %v", customer, got)
			}
		}
	})
}

// Strict mode: later messages of a key wait behind one that waits for its retry, in
// the order in which they came; other keys do not.
//
//evidence:strict
func TestStrictOrderAcrossRetries(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		b.exec("CREATE TABLE lists (customer TEXT, pos INTEGER, seq INTEGER)")
		var mu sync.Mutex
		broken := true
		config := b.config()
		config.OrderKey, config.Strict = ofCustomer, true
		config.Retry = retry.Policy{MaxAttempts: 1000, Backoff: retry.Backoff{Initial: 20 * time.Millisecond, Max: 20 * time.Millisecond, Factor: 1}}
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			mu.Lock()
			fail := broken && m.Body.N == 3 && m.Metadata["customer"] == "bad"
			mu.Unlock()
			if fail {
				return errBoom
			}
			return appendTo(ctx, tx, m)
		})
		b.start(c)
		var all []*message.Message
		for n := range 10 {
			all = append(all, b.deliverFor("bad", fmt.Sprint("bad", n), n), b.deliverFor("good", fmt.Sprint("good", n), n))
		}
		b.acked(all...)
		b.eventually("the other key is applied", func() bool { return slices.Equal(b.sequence("good"), upTo(10)) })
		b.eventually("so is what comes before the head", func() bool { return slices.Equal(b.sequence("bad"), upTo(3)) })
		for n := 3; n < 10; n++ {
			if got := b.state(fmt.Sprint("bad", n)); got != inbox.Waiting {
				b.Errorf("bad%d is %q", n, got)
			}
		}
		mu.Lock()
		broken = false
		mu.Unlock()
		b.eventually("all are applied", func() bool { return len(b.sequence("bad")) == 10 })
		if got := b.sequence("bad"); !slices.Equal(got, upTo(10)) {
			b.Errorf("after: %v", got)
		}
	})
}

// Strict order across processes: two consumers of one name drain and claim; the
// order of each key holds.
//
//evidence:strict
func TestStrictOrderTwoProcesses(t *testing.T) {
	t.Parallel()
	b := setupPostgres(t)
	b.exec("CREATE TABLE lists (customer TEXT, pos INTEGER, seq INTEGER)")
	var r runs
	config := b.config()
	config.OrderKey, config.Strict = ofCustomer, true
	config.Retry = retry.Policy{MaxAttempts: 1000, Backoff: retry.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Factor: 1}}
	make := func() *consumer.Consumer {
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.Body.N%5 == 1 && r.next(m.ID) < 4 {
				return errBoom
			}
			return appendTo(ctx, tx, m)
		})
		return c
	}
	one, two := make(), make()
	ctx, cancel := context.WithCancel(context.Background())
	ended := func() chan error {
		c := newChan()
		go func() { c <- two.Run(ctx) }()
		return c
	}()
	b.start(one)
	// A broker with order gives the next message of a key after the one before it was
	// settled; here each is waited for.
	for n := range 30 {
		var round []*message.Message
		for customer := range 4 {
			round = append(round, b.deliverFor(fmt.Sprint("c", customer), fmt.Sprintf("c%d-%d", customer, n), n))
		}
		b.acked(round...)
	}
	b.eventually("all are applied", func() bool { return b.count("SELECT count(*) FROM lists") == 120 })
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
	for customer := range 4 {
		if got := b.sequence(fmt.Sprint("c", customer)); !slices.Equal(got, upTo(30)) {
			b.Errorf("customer %d: %v", customer, got)
		}
	}
}

func newChan() chan error { return make(chan error, 1) }

// Group commit: handlers of a group run sorted by order key, so groups that lock
// the same rows in changing order do not deadlock.
//
//evidence:hot-rows
func TestHotRowsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	b := setupPostgres(t)
	b.exec("CREATE TABLE hot (name TEXT PRIMARY KEY, n INTEGER)")
	for i := range 20 {
		b.exec(fmt.Sprintf("INSERT INTO hot VALUES ('c%02d', 0)", i))
	}
	config := b.config()
	config.OrderKey = ofCustomer
	c := b.consumer(config)
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		_, err := tx.ExecContext(ctx, "UPDATE hot SET n = n + 1 WHERE name = $1", m.Metadata["customer"])
		return err
	})
	b.start(c)
	var all []*message.Message
	for n := range 1000 {
		all = append(all, b.deliverFor(fmt.Sprintf("c%02d", (n*7)%20), fmt.Sprint("m", n), n))
	}
	b.acked(all...)
	if got := b.count("SELECT sum(n) FROM hot"); got != 1000 {
		b.Errorf("sum is %d of 1000", got)
	}
	if got := b.count("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); got > 0 {
		b.Logf("%d deadlocks in this database since it was made (shared with other tests)", got)
	}
	if s := c.Stats(); s.FailedRuns != 0 {
		b.Errorf("%d runs failed", s.FailedRuns)
	}
}
