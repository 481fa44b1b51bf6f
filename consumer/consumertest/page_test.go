package consumertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/ledger"
)

// The test in docs/testing.md.
func TestInvoices(t *testing.T) {
	key := orderKey
	k := consumertest.New(t, consumertest.SQLite(), billing) // or consumertest.Postgres(dsn); billing: your consumer.New and Handle
	k.Exec("CREATE TABLE invoices (order_id TEXT, total INTEGER)")
	paid := consumertest.JSON("orders.paid", "webhook-1", Order{ID: "10492", Total: 4200})

	k.FailAttempt(paid, 1, consumertest.AfterEffects, errors.New("connection reset")) // the policy's backoff takes no time
	k.CrashAt(consumertest.AfterCommit)                                               // another process goes on
	k.DeliverAtOnce(3, paid)                                                          // to three processes

	k.AppliedOnce(paid, "SELECT count(*) FROM invoices WHERE order_id = $1", "10492")
	k.Published(consumertest.Event{Topic: "invoices.created", Key: "10492"})
	consumertest.StableKey(t, key, paid) // over redelivery, other headers, JSON written anew, the years
}

// Two consumers without a broker.
func TestMails(t *testing.T) {
	k := consumertest.New(t, consumertest.SQLite(), func(p *consumertest.Process) (*consumer.Consumer, error) {
		invoices, mails, err := shop(p) // your two consumers, whose handlers are Local
		p.Beside = []*consumer.Consumer{mails}
		return invoices, err
	})
	k.Exec("CREATE TABLE invoices (order_id TEXT, total INTEGER)")
	k.Exec("CREATE TABLE mails (order_id TEXT)")
	k.FailAttempt(consumertest.JSON("invoices.created", "invoice-10492", Order{ID: "10492"}), 1, consumertest.AfterEffects, errors.New("mail server away"))
	k.Publish(headrace.Event{ID: "webhook-1", Topic: "orders.paid", Value: Order{ID: "10492", Total: 4200}, Local: true})
	k.Settle()
	k.AppliedOnce(consumertest.JSON("invoices.created", "invoice-10492", Order{ID: "10492"}), "SELECT count(*) FROM mails WHERE order_id = $1", "10492")
}

// The test in docs/ledger.md.
func TestCharges(t *testing.T) {
	charge := ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: 24 * time.Hour}
	bank := consumertest.NewSystem(consumertest.Dedups(24 * time.Hour)) // or Finds(), KeepsErrors(), CarriesOnAfterCancel(d)
	k := consumertest.New(t, consumertest.SQLite(), func(p *consumertest.Process) (*consumer.Consumer, error) {
		return payments(p, charge, bank.Call) // your consumer.New and HandleLeased, with charge.Do(ctx, bank.Call)
	})
	k.Exec("CREATE TABLE charges (order_id TEXT, charge_id TEXT)")
	placed := consumertest.JSON("orders.placed", "order-1", Order{ID: "1", Total: 4200})

	bank.LoseAnswer(1)
	k.CrashAt(consumertest.StepCalled)
	k.Deliver(placed)
	k.AppliedOnce(placed, "SELECT count(*) FROM charges WHERE order_id = $1", "1")
	k.Steps(placed).CalledOnce(bank, "charge")
}

// shop makes two consumers without a broker: the invoices of one are what the other mails.
func shop(p *consumertest.Process) (invoices, mails *consumer.Consumer, err error) {
	if invoices, err = consumer.New("invoices", p.Store, consumer.Config{Logger: p.Logger}); err != nil {
		return nil, nil, err
	}
	consumer.Handle(invoices, "orders.paid", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", m.Body.ID, m.Body.Total); err != nil {
			return err
		}
		return tx.Publish(headrace.Event{ID: "invoice-" + m.Body.ID, Topic: "invoices.created", Value: m.Body})
	}, consumer.Local())
	if mails, err = consumer.New("mails", p.Store, consumer.Config{Logger: p.Logger}); err != nil {
		return nil, nil, err
	}
	consumer.Handle(mails, "invoices.created", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO mails (order_id) VALUES ($1)", m.Body.ID)
		return err
	}, consumer.Local())
	return invoices, mails, nil
}
