package consumertest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/webhook"
)

// A tick whose first process dies, and that all processes make: one report.
func ExampleKit_Tick() {
	run(func(t testing.TB) {
		k := consumertest.New(t, consumertest.SQLite(), reports)
		k.Exec(createReports)
		k.CrashAt(consumertest.BeforeCommit)
		tick := k.Tick("report", time.Date(2026, 7, 1, 0, 30, 0, 0, time.UTC)) // half past two in Berlin
		k.DeliverAtOnce(3, tick)                                               // every process makes every tick
		k.AppliedOnce(tick, countReports, "2026-07-01T00:30:00Z")
	})
	// Output: PASS
}

// A webhook whose process dies before it has answered: its sender sends it again. The preset
// signs as the sender does.
func ExampleKit_Post() {
	stripe := webhook.Stripe("whsec_test")
	wire := func(p *consumertest.Process) (*consumer.Consumer, error) {
		source := webhook.NewSource(webhook.Options{Logger: p.Logger})
		mux := http.NewServeMux()
		mux.Handle("POST /hooks/shop", source.Endpoint("orders.paid", stripe))
		p.Server = mux
		c, err := consumer.New("billing", p.Store, consumer.Config{Logger: p.Logger})
		if err != nil {
			return nil, err
		}
		consumer.Handle(c, "orders.paid", book, consumer.From(source))
		return c, nil
	}
	run(func(t testing.TB) {
		k := consumertest.New(t, consumertest.SQLite(), wire)
		k.Exec(createInvoices)
		paid := consumertest.JSON("orders.paid", "10492", Order{ID: "10492", Total: 4200})
		paid.Metadata = stripe.Sign(paid.ID, time.Now(), paid.Payload)
		k.CrashAt(consumertest.AfterCommit)
		fmt.Println(k.Post("/hooks/shop", paid), k.Post("/hooks/shop", paid)) // 0 200: the sender sends it again
		k.AppliedOnce(paid, countInvoices, "10492")
	})
	// Output:
	// 0 200
	// PASS
}
