package webhook_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/webhook"
)

type event struct {
	ID string `json:"id"`
}

func addPayment(ctx context.Context, tx *headrace.Tx, m *headrace.Message[event]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO payments VALUES ($1)", m.Body.ID)
	return err
}

// Stripe tells a payment three times; it is booked once.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	dir, err := os.MkdirTemp("", "webhook")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	st, err := sqlite.Open(ctx, filepath.Join(dir, "shop.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	if _, err := st.DB().ExecContext(ctx, "CREATE TABLE payments (id TEXT)"); err != nil {
		log.Fatal(err)
	}
	hooks, err := webhook.NewSource(webhook.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer hooks.Close()
	mux, secret := http.NewServeMux(), stripeSecret
	mux.Handle("POST /hooks/stripe", hooks.Endpoint("stripe", webhook.Stripe(secret)))
	c, err := consumer.New("shop", st, consumer.Config{Logger: quiet})
	if err != nil {
		log.Fatal(err)
	}
	consumer.Handle(c, "stripe", addPayment, consumer.From(hooks))
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for c.Ready() != nil {
		time.Sleep(time.Millisecond)
	}

	for range 3 {
		r := httptest.NewRequest(http.MethodPost, "/hooks/stripe", strings.NewReader(stripeBody))
		r.Header.Set("Stripe-Signature", stripeHeader(stripeSecret, time.Now(), stripeBody))
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	var n int
	if err := st.DB().QueryRowContext(ctx, "SELECT count(*) FROM payments").Scan(&n); err != nil {
		log.Fatal(err)
	}
	fmt.Println("payments:", n)
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output:
	// 200
	// 200
	// 200
	// payments: 1
}
