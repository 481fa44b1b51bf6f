package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/examples/internal/child"
	"github.com/headrace/headrace/examples/internal/sender"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/reconcile"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/schedule"
	"github.com/headrace/headrace/webhook"
)

// order is what the shop tells, and what it has in its books.
type order struct {
	ID    int       `json:"id"`
	Total int       `json:"total"`
	Paid  time.Time `json:"paid"`
	// Again is in webhooks that are sent later.
	Again bool `json:"again,omitempty"`
}

// paid has the key of an order on each way: by a webhook, and from the books.
var paid = intent.Kind[order]{
	Consumer: "billing", Handler: "orders.paid",
	Key: inbox.Join(inbox.Literal("order"), inbox.JSON("id")), SameWhen: inbox.Fields("id", "total"),
}

// grace is how long a webhook may be on its way. A real one is an hour.
const grace = time.Second

// jobOf names the schedule of a night.
func jobOf(night int) string { return fmt.Sprint("night-", night) }

// worker is the process that is killed: an HTTP server for the webhooks, and the consumer.
func (o *options) worker(ctx context.Context) error {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	d, err := o.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	hooks := webhook.NewSource(webhook.Options{})
	defer func() { _ = hooks.Close() }()
	mux := http.NewServeMux()
	mux.Handle("POST /hooks/orders", hooks.Endpoint("orders", webhook.Shopify(sender.Secret)))
	ticks, err := schedule.NewSource(d, schedule.Options{Schedules: []schedule.Schedule{
		{Name: jobOf(o.night), Cron: "30 2 * * *", Zone: "UTC", Within: time.Hour},
	}})
	if err != nil {
		return err
	}
	defer func() { _ = ticks.Close() }()
	c, err := consumer.New("billing", d, consumer.Config{
		Retry: retry.Policy{MaxAttempts: 20, Backoff: retry.Backoff{Initial: 50 * time.Millisecond, Max: time.Second, Jitter: 0.2}},
	})
	if err != nil {
		return err
	}
	consumer.Handle(c, "orders", book, consumer.From(hooks), paid.Option())
	reconcile.Handle(c, ticks, reconcile.Job[order]{
		Name: jobOf(o.night), Kind: paid, Source: books{o.shop}.paid, Missing: reconcile.Enqueue,
		Lookback: time.Hour, Grace: grace, MostShare: 0.45, // the shop drops many
	}, consumer.Lease(time.Second)) // 30 s by default
	ctx, stop := context.WithCancel(child.UntilParentEnds(ctx))
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- child.Serve(ctx, o.at, mux)
	}()
	err = c.Run(ctx)
	stop()
	return errors.Join(err, <-served)
}

// book books an order.
func book(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO booked (order_id) VALUES ($1)", m.Body.ID)
	return err
}

// books are those of the shop, over its API.
type books struct{ url string }

// page is an answer of the API.
type page struct {
	Orders []order `json:"orders"`
	Next   int     `json:"next"` // 0 at the end
}

// paid are the orders that were paid in a time, page by page.
func (b books) paid(ctx context.Context, w reconcile.Window) iter.Seq2[reconcile.Item[order], error] {
	return func(yield func(reconcile.Item[order], error) bool) {
		for after := 0; ; {
			p, err := b.page(ctx, w, after)
			if err != nil {
				yield(reconcile.Item[order]{}, err)
				return
			}
			for _, o := range p.Orders {
				if !yield(reconcile.Item[order]{Value: o, At: o.Paid}, nil) {
					return
				}
			}
			if after = p.Next; after == 0 {
				return
			}
		}
	}
}

func (b books) page(ctx context.Context, w reconcile.Window, after int) (p page, err error) {
	q := url.Values{"from": {w.From.Format(time.RFC3339Nano)}, "to": {w.To.Format(time.RFC3339Nano)}, "after": {fmt.Sprint(after)}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/orders?"+q.Encode(), nil)
	if err != nil {
		return p, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return p, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return p, fmt.Errorf("the shop answers %s", answer.Status)
	}
	return p, json.NewDecoder(answer.Body).Decode(&p)
}
