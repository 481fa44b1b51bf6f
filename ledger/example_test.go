package ledger_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlite"
)

// Order is what a shop sends.
type Order struct {
	ID    string `json:"id"`
	Total int    `json:"total"`
}

// bankURL is a payment service; see Example.
var bankURL string

var charge = ledger.Step[string]{
	Name: "charge", System: "bank",
	Recover: ledger.Retry, KeyWindow: 24 * time.Hour, // it drops repetitions of a key for a day
}

func pay(ctx context.Context, m *headrace.Message[Order]) (headrace.Effects, error) {
	id, err := charge.Input(m.Body.Total).Do(ctx, func(ctx context.Context, c *ledger.Call) (string, error) {
		answer, err := post(ctx, bankURL+"/charges", c.Key, m.Body) // with the header Idempotency-Key
		if err := ledger.HTTP(answer, err); err != nil {
			return "", err
		}
		id := answer.Header.Get("Charge-Id")
		c.SetID(id) // headrace steps find bank ID
		return id, nil
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx *headrace.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO charges (order_id, charge_id) VALUES ($1, $2)", m.Body.ID, id)
		return err
	}, nil
}

// post posts an order under an idempotency key.
func post(ctx context.Context, url, key string, o Order) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(fmt.Sprintf(`{"total":%d}`, o.Total)))
	if err != nil {
		return nil, ledger.NotSent(err)
	}
	r.Header.Set("Idempotency-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if answer != nil {
		_ = answer.Body.Close()
	}
	return answer, err
}

// A card is charged. The answer to the first call is lost after the bank has carried it
// out; the second one has the same key, and the bank drops it.
func Example() {
	charged := make(map[string]int) // by key
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		if charged[key]++; charged[key] == 1 {
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		}
		w.Header().Set("Charge-Id", "ch_1")
	}))
	defer bank.Close()
	bankURL = bank.URL

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
	if _, err := st.DB().Exec("CREATE TABLE charges (order_id TEXT, charge_id TEXT)"); err != nil {
		log.Fatal(err)
	}
	broker := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	c, err := consumer.New("shop", st, consumer.Config{
		Source: broker, Logger: slog.New(slog.DiscardHandler), Retry: retry.Policy{Immediate: 3},
		Systems: map[string]ledger.Limit{"bank": {Concurrent: 4, PerSecond: 20}}, // for each process
	})
	if err != nil {
		log.Fatal(err)
	}
	consumer.HandleLeased(c, "orders.placed", pay, consumer.Steps(charge))
	if err := broker.Publish("orders.placed", message.NewMessage("order-1", []byte(`{"id":"1","total":4200}`))); err != nil {
		log.Fatal(err)
	}

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for c.Stats().BacklogApplied == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	_ = broker.Close()
	var rows int
	if err := st.DB().QueryRow("SELECT count(*) FROM charges WHERE charge_id = 'ch_1'").Scan(&rows); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(charged), "charge,", rows, "row")
	// Output: 1 charge, 1 row
}
