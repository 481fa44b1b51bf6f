package intent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/store/sqlite"
)

// Ticket is what a caller asks for, and Opened the answer.
type Ticket struct {
	Subject string `json:"subject"`
}

type Opened struct {
	Number int `json:"number"`
}

// Tickets is the same in each program that starts or handles them.
var Tickets = intent.Kind[Ticket]{Consumer: "support", Handler: "tickets"}

// open opens a ticket, and answers with its number.
func open(_ context.Context, m *headrace.Message[Ticket]) (headrace.Effects, error) {
	return func(ctx context.Context, tx *headrace.Tx) error {
		var number int
		if err := tx.QueryRowContext(ctx, "INSERT INTO tickets (subject) VALUES ($1) RETURNING number", m.Body.Subject).Scan(&number); err != nil {
			return err
		}
		return intent.Answer(tx, Opened{Number: number})
	}, nil
}

// A caller starts an intent, asks for the same again, and waits for the answer. Other
// content under the key is an error.
func Example() {
	shop := newShop()
	defer shop.close()
	ctx, client := context.Background(), shop.client

	request := intent.Request[Ticket]{Owner: "acme", Key: "mail:77", Value: Ticket{Subject: "no invoice"}}
	first, err := Tickets.Start(ctx, client, request)
	if err != nil {
		log.Fatal(err)
	}
	again, err := Tickets.Start(ctx, client, request)
	fmt.Println(first.New, again.New, err)

	done, err := Tickets.Await(ctx, client, first.Key)
	fmt.Println(done.State, string(done.Answer), err)

	request.Value.Subject = "another"
	known, err := Tickets.Start(ctx, client, request)
	fmt.Println(known.State, errors.Is(err, intent.ErrConflict))
	// Output:
	// true false <nil>
	// done {"number":1} <nil>
	// done true
}

// The same over HTTP. The client repeats a request until it has an answer.
func ExampleHandler() {
	shop := newShop()
	defer shop.close()

	owner := func(r *http.Request) (string, error) {
		return map[string]string{"Bearer s3cret": "acme"}[r.Header.Get("Authorization")], nil // your own check
	}
	tickets, err := intent.Handler(Tickets, shop.client, owner)
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /tickets", tickets)
	mux.Handle("GET /tickets/{key}", tickets)

	server := httptest.NewServer(mux)
	defer server.Close()
	do := func(method, path, key, token, body string) {
		r, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		r.Header.Set("Authorization", token)
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			log.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			log.Fatal(err)
		}
		_, answer, _ := strings.Cut(strings.TrimSpace(string(text)), `"answer":`)
		fmt.Println(strings.TrimSpace(fmt.Sprint(method, " ", resp.StatusCode, " ", strings.TrimSuffix(answer, "}"))))
	}
	do("POST", "/tickets", "mail-77", "Bearer s3cret", `{"subject":"no invoice"}`)
	do("GET", "/tickets/mail-77?wait=30s", "", "Bearer s3cret", "")
	do("POST", "/tickets", "mail-77", "Bearer s3cret", `{"subject":"no invoice"}`)
	do("POST", "/tickets", "mail-77", "Bearer s3cret", `{"subject":"another"}`)
	do("GET", "/tickets/mail-77", "", "", "")
	// Output:
	// POST 201
	// GET 200 {"number":1}
	// POST 200 {"number":1}
	// POST 422
	// GET 401
}

// shop is a consumer of tickets that runs, with a client.
type shop struct {
	client *intent.Client
	close  func()
}

func newShop() shop {
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	st, err := sqlite.Open(ctx, filepath.Join(dir, "shop.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := st.DB().Exec("CREATE TABLE tickets (number INTEGER PRIMARY KEY, subject TEXT)"); err != nil {
		log.Fatal(err)
	}
	c, err := consumer.New("support", st, consumer.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	consumer.HandleLeased(c, "tickets", open, consumer.Local(), Tickets.Option())
	client, err := intent.NewClient(st, intent.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	return shop{client, func() {
		stop()
		if err := errors.Join(<-ended, client.Close(), st.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}}
}
