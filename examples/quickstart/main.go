package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/examples/internal/tour"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlite"
)

type Order struct {
	ID    string `json:"id"`
	Total int    `json:"total"` // in cents
}

var fixed atomic.Bool // stands for a release that takes free orders too

func addInvoice(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
	if m.Body.Total <= 0 && !fixed.Load() {
		return retry.Permanent(errors.New("total is not positive")) // a dead letter, at once
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO invoices VALUES ($1, $2)", m.Body.ID, m.Body.Total); err != nil {
		return err // rolled back, and tried again
	}
	return tx.Publish(headrace.Event{Topic: "invoices.created", Value: m.Body}) // leaves with the commit
}

func sendMail(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO mails VALUES ($1)", m.Body.ID)
	return err
}

func run(ctx context.Context, file string, out io.Writer) error {
	st, err := sqlite.Open(ctx, file, sqlite.Options{Migrate: true})
	if err != nil {
		return err
	}
	defer st.Close()
	c, err := consumer.New("shop", st, consumer.Config{})
	if err != nil {
		return err
	}
	consumer.Handle(c, "orders.paid", addInvoice, consumer.Local()) // with a broker: Config.Source, and no Local
	consumer.Handle(c, "invoices.created", sendMail, consumer.Local())
	mux, events := http.NewServeMux(), outbox.New(st.Outbox())
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		o, key := Order{}, r.Header.Get("Idempotency-Key")
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil || key == "" {
			http.Error(w, "an order as JSON and the header Idempotency-Key are needed", http.StatusBadRequest)
			return
		}
		tx, err := st.DB().BeginTx(r.Context(), nil)
		if err == nil {
			defer tx.Rollback() // does nothing after a commit
			err = events.Publish(r.Context(), tx, headrace.Event{ID: key, Topic: "orders.paid", Value: o, Local: true})
		}
		if err != nil || tx.Commit() != nil {
			http.Error(w, "try again", http.StatusServiceUnavailable)
		}
		events.Wake()
	})
	return tour.Run(ctx, out, tour.Stops{Shop: mux, Store: st, File: file, Run: c.Run, Fix: func() { fixed.Store(true) }})
}

func main() {
	if err := run(context.Background(), tour.File(), os.Stdout); err != nil {
		log.Fatalf("quickstart: %v", err)
	}
}
