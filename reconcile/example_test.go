package reconcile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/reconcile"
	"github.com/headrace/headrace/schedule"
	"github.com/headrace/headrace/store/sqlite"
)

// Order is what the shop has, and tells by a webhook.
type Order struct {
	ID   int       `json:"id"`
	Paid time.Time `json:"paid"`
}

// books are those of the shop.
type books []Order

// Paid returns a page of the orders that were paid in a time, and the place of the next one.
func (b books) Paid(_ context.Context, from, to time.Time, after int) (page []Order, last int, err error) {
	return b[after:], 0, nil
}

// Each night the orders of the shop are compared with the messages that came. Here a person
// asks for a tick now, and one order was never told.
func Example() {
	shop := books{{ID: 7, Paid: time.Now().Add(-5 * time.Hour)}}
	hooks := memsource.New() // a webhook.Source, which gets nothing here
	OrdersPaid := intent.Kind[Order]{
		Consumer: "billing", Handler: "orders.paid",
		Key: inbox.Join(inbox.Literal("order"), inbox.JSON("id")), SameWhen: inbox.Fields("id"),
	}
	paidOrders := func(ctx context.Context, w reconcile.Window) iter.Seq2[reconcile.Item[Order], error] {
		return func(yield func(reconcile.Item[Order], error) bool) {
			for after := 0; ; {
				orders, last, err := shop.Paid(ctx, w.From, w.To, after) // one page
				if err != nil {
					yield(reconcile.Item[Order]{}, err)
					return
				}
				for _, o := range orders {
					if !yield(reconcile.Item[Order]{Value: o, At: o.Paid}, nil) {
						return
					}
				}
				if after = last; after == 0 {
					return
				}
			}
		}
	}

	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(context.Background(), filepath.Join(dir, "shop.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	ticks, err := schedule.NewSource(st, schedule.Options{Schedules: []schedule.Schedule{
		{Name: "reconcile.orders", Cron: "30 2 * * *", Zone: "Europe/Berlin"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = ticks.Close() }()
	c, err := consumer.New("billing", st, consumer.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	booked := make(chan int, 10)
	book := func(_ context.Context, _ *headrace.Tx, m *headrace.Message[Order]) error {
		booked <- m.Body.ID
		return nil
	}
	consumer.Handle(c, "orders.paid", book, consumer.From(hooks), OrdersPaid.Option())
	reconcile.Handle(c, ticks, reconcile.Job[Order]{
		Name: "reconcile.orders", Kind: OrdersPaid, Source: paidOrders,
		Lookback: 48 * time.Hour, Missing: reconcile.Enqueue, // or reconcile.Report
	})

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for fired := false; !fired && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		fired = schedule.Fire(ctx, st, "reconcile.orders", "example") == nil // as headrace schedule fire does
	}
	fmt.Println("booked order", <-booked)
	var answer []byte
	for len(answer) == 0 && ctx.Err() == nil {
		_ = st.DB().QueryRow("SELECT answer FROM headrace_answers").Scan(&answer)
	}
	var result reconcile.Result
	if err := json.Unmarshal(answer, &result); err != nil {
		log.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Missing, "missing,", result.Enqueued, "started,", result.Keys)
	// Output:
	// booked order 7
	// 1 missing, 1 started, [order:7]
}
