package webhook_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/webhook"
)

// Payment is what the program needs of Stripe's event.
type Payment struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// Stripe sends an event twice; the second answer is 200 too, and the handler runs once.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop() // a program takes signal.NotifyContext
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "shop.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()

	stripe := webhook.Stripe("whsec_from_the_dashboard") // a program reads it from its environment
	hooks := webhook.NewSource(webhook.Options{})
	defer func() { _ = hooks.Close() }()
	mux := http.NewServeMux()
	mux.Handle("POST /hooks/stripe", hooks.Endpoint("stripe", stripe))
	server := httptest.NewServer(mux) // a program has an http.Server
	defer server.Close()

	c, err := consumer.New("billing", st, consumer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	pay := func(_ context.Context, _ *headrace.Tx, m *headrace.Message[Payment]) error {
		fmt.Println(m.Body.Type, m.ID)
		return nil
	}
	consumer.Handle(c, "stripe", pay, consumer.From(hooks), consumer.SameWhen(inbox.Fields("id", "type")))

	go func() {
		defer stop()
		for c.Ready() != nil && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		body := `{"id":"evt_1","type":"charge.succeeded"}`
		for range 2 {
			code, err := request(ctx, server.URL+"/hooks/stripe", body, stripe.Sign("evt_1", time.Now(), []byte(body)))
			fmt.Println(code, err)
		}
		http.DefaultClient.CloseIdleConnections()
	}()
	if err := c.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// charge.succeeded evt_1
	// 200 <nil>
	// 200 <nil>
}
