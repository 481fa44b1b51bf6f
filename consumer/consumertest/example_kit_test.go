package consumertest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// run runs a test outside of go test, and prints PASS, or FAIL and the first line of what
// it failed with.
func run(test func(t testing.TB)) {
	said := failure(test)
	if said == "" {
		fmt.Println("PASS")
		return
	}
	first, _, _ := strings.Cut(said, "\n")
	fmt.Println("FAIL:", first)
}

const (
	createInvoices = "CREATE TABLE invoices (order_id TEXT, total INTEGER)"
	countInvoices  = "SELECT count(*) FROM invoices WHERE order_id = $1"
)

// paidOrder is the message of the Examples.
var paidOrder = consumertest.JSON("orders.paid", "webhook-1", Order{ID: "10492", Total: 4200})

// The same message three times at the same time, to three processes on one database, and
// three times to one of them.
func ExampleKit_DeliverAtOnce() {
	run(func(t testing.TB) {
		k := consumertest.New(t, consumertest.SQLite(), billing)
		k.Exec(createInvoices)
		k.DeliverAtOnce(3, paidOrder)
		k.Deliver(paidOrder, paidOrder, paidOrder)
		k.AppliedOnce(paidOrder, countInvoices, "10492")
	})
	// Output: PASS
}

// A broker that delivers again although the effects are committed.
func ExampleKit_Redeliver() {
	run(func(t testing.TB) {
		k := consumertest.New(t, consumertest.SQLite(), billing)
		k.Exec(createInvoices)
		k.Deliver(paidOrder)
		k.Redeliver(paidOrder)
		k.AppliedOnce(paidOrder, countInvoices, "10492")
	})
	// Output: PASS
}

// The first attempt fails before the handler runs, the second after it has done all its
// work. The policy puts both off for minutes, which take no time here.
func ExampleKit_FailAttempt() {
	run(func(t testing.TB) {
		k := consumertest.New(t, consumertest.SQLite(), billing)
		k.Exec(createInvoices)
		k.FailAttempt(paidOrder, 1, consumertest.BeforeEffects, errors.New("out of memory"))
		k.FailAttempt(paidOrder, 2, consumertest.AfterEffects, retry.After(5*time.Minute, errors.New("429 Too Many Requests")))
		k.Deliver(paidOrder)
		k.AppliedOnce(paidOrder, countInvoices, "10492")
		fmt.Println("put off for", k.Delays(paidOrder))
	})
	// Output:
	// put off for [1m0s 5m0s]
	// PASS
}

// The process dies at each point on the way of a message; another goes on with what it
// left.
func ExampleKit_CrashAt() {
	for _, point := range consumertest.HandlerPoints() {
		fmt.Print(point, ": ")
		run(func(t testing.TB) { // in a test of your own: t.Run(string(point), …)
			k := consumertest.New(t, consumertest.SQLite(), billing)
			k.Exec(createInvoices)
			k.CrashAt(point)
			k.Deliver(paidOrder)
			k.AppliedOnce(paidOrder, countInvoices, "10492")
		})
	}
	// Output:
	// after-receive: PASS
	// after-claim: PASS
	// mid-handler: PASS
	// before-commit: PASS
	// after-commit: PASS
	// after-ack: PASS
}

// What the kit says of a handler that publishes past its Tx: each attempt does.
func ExampleKit_CrashAt_wrongHandler() {
	wrong := func(p *consumertest.Process) (*consumer.Consumer, error) {
		c, err := consumer.New("billing", p.Store, consumer.Config{Source: p.Source, Sink: p.Sink, Logger: p.Logger, Key: orderKey})
		if err != nil {
			return nil, err
		}
		consumer.Handle(c, "orders.paid", func(context.Context, *headrace.Tx, *headrace.Message[Order]) error {
			return p.Sink.Publish("invoices.created", message.NewMessage(watermill.NewUUID(), []byte("{}"))) // not tx.Publish
		})
		return c, nil
	}
	run(func(t testing.TB) {
		k := consumertest.New(t, consumertest.SQLite(), wrong)
		k.CrashAt(consumertest.BeforeCommit)
		k.Deliver(paidOrder)
		k.Published(consumertest.Event{Topic: "invoices.created"})
	})
	// Output: FAIL: Published: 2 events fit, want one: topic "invoices.created"
}

// A message that no retry mends, the same after a person has sent it again.
func ExampleKit_DeadLettered() {
	free := consumertest.JSON("orders.paid", "webhook-2", Order{ID: "10493"})
	run(func(t testing.TB) {
		k := consumertest.New(t, consumertest.SQLite(), billing)
		k.Exec(createInvoices)
		k.Deliver(free)
		k.DeadLettered(free, dlq.Permanent, errNotPositive)
		k.NotPublished(consumertest.Event{Topic: "invoices.created"})

		k.Redrive(free)
		letter := k.DeadLettered(free, dlq.Permanent, errNotPositive)
		fmt.Printf("attempts %d, redrives %d\n", letter.Attempts, letter.Redrives)
	})
	// Output:
	// attempts 2, redrives 1
	// PASS
}

// What is published leaves once, although the relay's process dies before it knows that
// the broker has it.
func ExampleKit_Published() {
	run(func(t testing.TB) {
		k := consumertest.New(t, consumertest.SQLite(), billing)
		k.Exec(createInvoices)
		k.CrashAt(consumertest.RelayPublished)
		k.Deliver(paidOrder)
		k.Published(consumertest.Event{
			Topic: "invoices.created", Key: "10492",
			Payload: []byte(`{"total": 4200, "id": "10492"}`), // JSON that says the same
		})
	})
	// Output: PASS
}

// Settle is called by every assertion; call it before you look at something yourself.
func ExampleKit_Settle() {
	run(func(t testing.TB) {
		k := consumertest.New(t, consumertest.SQLite(), billing)
		k.Exec(createInvoices)
		k.Deliver(paidOrder)
		k.Settle()
		fmt.Println(k.State(paidOrder), k.Count("SELECT sum(total) FROM invoices"), len(k.Events("invoices.created")))
	})
	// Output:
	// done 4200 1
	// PASS
}

// A key function, and one that tells deliveries apart and not messages.
func ExampleStableKey() {
	run(func(t testing.TB) {
		consumertest.StableKey(t, orderKey, paidOrder)
		consumertest.StableFingerprint(t, inbox.Payload(), paidOrder)
	})
	run(func(t testing.TB) { consumertest.StableKey(t, inbox.MessageID(), paidOrder) })
	// A sender that sends a message again under the same id, for sure:
	run(func(t testing.TB) { consumertest.StableKey(t, inbox.MessageID(), paidOrder, consumertest.Resent) })
	// Output:
	// PASS
	// FAIL: the key is not stable: sent again by its sender, under another message id:
	// PASS
}

// Two orders must not have one key.
func ExampleDistinctKeys() {
	other := consumertest.JSON("orders.paid", "webhook-2", Order{ID: "10493", Total: 4200})
	run(func(t testing.TB) { consumertest.DistinctKeys(t, orderKey, paidOrder, other) })
	run(func(t testing.TB) { consumertest.DistinctKeys(t, inbox.JSON("total"), paidOrder, other) })
	// Output:
	// PASS
	// FAIL: DistinctKeys: two messages have the key "4200":
}
