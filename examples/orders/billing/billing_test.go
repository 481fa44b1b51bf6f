package billing_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/examples/orders/billing"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/tests/endtoend/shopify"
)

const (
	topic, confirmations = "orders.paid", "confirmations"
	attempts             = 8 // of the policy

	paid = `{"id":450789469,"name":"#1001","email":"bob@example.com","currency":"EUR","total_price":"199.90",` +
		`"financial_status":"paid","line_items":[{"id":1,"price":"199.90"}],"updated_at":"2026-01-01T10:00:00Z"}`
)

var errSimulated = errors.New("simulated: connection reset by the tax service")

// wire is the program's own wiring, on what the kit has in place of the world outside.
func wire(p *consumertest.Process) (*consumer.Consumer, error) {
	return billing.New(p.Store, consumer.Config{Source: p.Source, Sink: p.Sink, Logger: p.Logger}, topic, billing.WriteInvoice(confirmations))
}

// onEachDatabase runs a test of the handler on SQLite and on PostgreSQL.
func onEachDatabase(t *testing.T, test func(t *testing.T, k *consumertest.Kit)) {
	run := func(name string, database func(t *testing.T) consumertest.Database) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := consumertest.New(t, database(t), wire)
			k.Exec(billing.CreateInvoices)
			test(t, k)
		})
	}
	run("SQLite", func(*testing.T) consumertest.Database { return consumertest.SQLite() })
	run("PostgreSQL", func(t *testing.T) consumertest.Database {
		dsn, _ := pgtest.New(t)
		return consumertest.Postgres(dsn)
	})
}

// paidWebhook is a webhook as the shop sends it.
func paidWebhook() consumertest.Message {
	return consumertest.Message{Topic: topic, ID: "webhook-1", Payload: []byte(paid)}.With(shopify.ShopHeader, "mill.example")
}

// countInvoices counts the invoices of the order of paidWebhook, whatever key they have.
const countInvoices = "SELECT count(*) FROM invoices WHERE order_id = 450789469 AND total_minor = 19990"

// confirmed is what a customer gets.
var confirmed = consumertest.Event{
	Topic: confirmations, Key: "bob@example.com",
	Payload: []byte(`{"shop": "mill.example", "order_name": "#1001", "email": "bob@example.com", "total_minor": 19990, "currency": "EUR"}`),
}

// The shop sends a webhook again, under another id and with another updated_at, while the first is being handled
// and after that: one invoice, one confirmation.
func TestOneInvoiceForAnOrder(t *testing.T) {
	onEachDatabase(t, func(_ *testing.T, k *consumertest.Kit) {
		again := paidWebhook()
		again.ID = "webhook-2"
		again.Payload = []byte(strings.Replace(paid, `{"id"`, `{"updated_at":"2026-11-21T12:00:00+01:00","id"`, 1))

		k.DeliverAtOnce(3, paidWebhook())
		k.Deliver(again)
		k.AppliedOnce(paidWebhook(), countInvoices)
		k.Redeliver(again)
		k.AppliedOnce(again, countInvoices)
		k.Published(confirmed)
	})
}

// Wherever the process dies, another finishes what it left, once.
func TestOneInvoiceAfterACrash(t *testing.T) {
	for _, point := range slices.Concat(consumertest.HandlerPoints(), consumertest.RelayPoints()) {
		t.Run(string(point), func(t *testing.T) {
			onEachDatabase(t, func(_ *testing.T, k *consumertest.Kit) {
				k.CrashAt(point)
				k.Deliver(paidWebhook())
				k.AppliedOnce(paidWebhook(), countInvoices)
				k.Published(confirmed)
			})
		})
	}
}

// Failures are retried, those of the whole policy end as a dead letter, and a person can send that again.
func TestFailingInvoice(t *testing.T) {
	onEachDatabase(t, func(t *testing.T, k *consumertest.Kit) {
		k.FailAttempt(paidWebhook(), 1, consumertest.AfterEffects, errSimulated)
		k.FailAttempt(paidWebhook(), 2, consumertest.BeforeEffects, errSimulated)
		k.Deliver(paidWebhook())
		k.AppliedOnce(paidWebhook(), countInvoices)
		if n := len(k.Attempts(paidWebhook())); n != 2 {
			t.Errorf("%d failed attempts are recorded, want 2", n)
		}

		other := paidWebhook()
		other.Payload = []byte(strings.Replace(paid, "450789469", "450789470", 1))
		for n := range attempts {
			k.FailAttempt(other, n+1, consumertest.AfterEffects, errSimulated)
		}
		k.Deliver(other)
		k.DeadLettered(other, dlq.Exhausted, errSimulated)
		k.NotPublished(consumertest.Event{Topic: confirmations, Payload: []byte("{}")})
		k.Redrive(other)
		k.AppliedOnce(other, strings.Replace(countInvoices, "450789469", "450789470", 1))
	})
}

// What no retry mends is a dead letter at once: a wrong order, other content under a known key, and no JSON.
func TestWrongWebhooks(t *testing.T) {
	onEachDatabase(t, func(_ *testing.T, k *consumertest.Kit) {
		wrong, conflict, broken := paidWebhook(), paidWebhook(), paidWebhook()
		wrong.Payload = []byte(strings.NewReplacer("450789469", "450789471", "199.90", "199,90 EUR").Replace(paid))
		conflict.Payload = []byte(strings.Replace(paid, "199.90", "1.00", 1))
		broken.Payload = []byte(`{"id":`)

		k.Deliver(paidWebhook())
		k.Settle()
		k.Deliver(wrong, conflict, broken)
		k.DeadLettered(wrong, dlq.Permanent, errors.New("not an amount of money"))
		k.DeadLettered(conflict, dlq.Conflict, nil)
		k.DeadLettered(broken, dlq.Undecodable, nil)
		k.AppliedOnce(paidWebhook(), countInvoices)
		k.Published(consumertest.Event{Topic: confirmations})
	})
}

// The key and the fingerprint bear what happens to a webhook on its way, and tell orders apart.
func TestKeyIsStable(t *testing.T) {
	other := paidWebhook()
	other.Payload = []byte(strings.Replace(paid, "450789469", "450789470", 1))
	consumertest.StableKey(t, billing.Key(), paidWebhook())
	consumertest.StableFingerprint(t, billing.SameWhen(), paidWebhook())
	consumertest.DistinctKeys(t, billing.Key(), paidWebhook(), paidWebhook().With(shopify.ShopHeader, "other.example"), other)
	// Without a shop the key is the webhook's own id, which another webhook does not have.
	consumertest.StableKey(t, billing.Key(), consumertest.Message{Topic: topic, ID: "webhook-1", Payload: []byte(paid)}, consumertest.Resent)
}
