package consumertest_test

import (
	"errors"
	"testing"

	"github.com/headrace/headrace/consumer/consumertest"
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
