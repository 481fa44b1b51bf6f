package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
)

type order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Total    int    `json:"total"` // in cents
}

type shop struct {
	db       *sql.DB
	events   *outbox.Outbox
	mailDown atomic.Bool
}

// addInvoice turns an order into an invoice. The row and the event are one commit.
func (s *shop) addInvoice(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
	o := m.Body
	if _, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id, customer, total) VALUES ($1, $2, $3)", o.ID, o.Customer, o.Total); err != nil {
		return err
	}
	return tx.Publish(headrace.Event{ID: "invoice-" + o.ID, Topic: "invoices.created", Value: o})
}

// sendMail mails an invoice. Its call may happen again, its effect on the row does not.
func (s *shop) sendMail(ctx context.Context, m *headrace.Message[order]) (headrace.Effects, error) {
	var to string
	err := s.db.QueryRowContext(ctx, "SELECT address FROM customers WHERE name = $1", m.Body.Customer).Scan(&to)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, retry.Permanent(errors.New("the customer has no address")) // no attempt can help
	}
	if err != nil {
		return nil, err
	}
	if err := s.mail(to, m.Body, m.IdempotencyKey()); err != nil {
		return nil, err // tried again, by the policy
	}
	return func(ctx context.Context, tx *headrace.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE invoices SET mailed = mailed + 1 WHERE order_id = $1", m.Body.ID)
		return err
	}, nil
}

// mail stands for the client of a mail server.
func (s *shop) mail(to string, o order, idempotencyKey string) error {
	if s.mailDown.Load() {
		return errors.New("mail server: connection refused")
	}
	fmt.Printf("mail to %s: your order %s, %d.%02d (%s)\n", to, o.ID, o.Total/100, o.Total%100, idempotencyKey)
	return nil
}

func (s *shop) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.postOrder)
	mux.HandleFunc("PUT /customers/{name}", s.putCustomer)
	mux.HandleFunc("PUT /mail-server", s.putMailServer)
	mux.HandleFunc("GET /invoices", s.getInvoices)
	return mux
}

// postOrder writes the order's event. Its id is what the client calls the request, so that
// a request that is sent again is the same message.
func (s *shop) postOrder(w http.ResponseWriter, r *http.Request) {
	var o order
	key := r.Header.Get("Idempotency-Key")
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil || key == "" {
		http.Error(w, "an order as JSON and the header Idempotency-Key are needed", http.StatusBadRequest)
		return
	}
	tx, err := s.db.BeginTx(r.Context(), nil)
	if err == nil {
		defer func() { _ = tx.Rollback() }() // does nothing after a commit
		err = s.events.Publish(r.Context(), tx, headrace.Event{ID: key, Topic: "orders.paid", Value: o, Local: true})
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	s.events.Wake()
	_, _ = fmt.Fprintln(w, "accepted")
}

func (s *shop) putCustomer(w http.ResponseWriter, r *http.Request) {
	address, err := io.ReadAll(r.Body)
	if err == nil {
		_, err = s.db.ExecContext(r.Context(), "INSERT OR REPLACE INTO customers VALUES ($1, $2)", r.PathValue("name"), string(address))
	}
	answer(w, err)
}

func (s *shop) putMailServer(w http.ResponseWriter, r *http.Request) {
	state, err := io.ReadAll(r.Body)
	s.mailDown.Store(string(state) == "down")
	answer(w, err)
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = fmt.Fprintln(w, "done")
}

func (s *shop) getInvoices(w http.ResponseWriter, r *http.Request) {
	rows, err := s.db.QueryContext(r.Context(), "SELECT order_id, customer, total, mailed FROM invoices ORDER BY order_id")
	if err != nil {
		answer(w, err)
		return
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, customer string
		var total, mailed int
		if err := rows.Scan(&id, &customer, &total, &mailed); err != nil {
			answer(w, err)
			return
		}
		_, _ = fmt.Fprintf(w, "order %s of %s: %d.%02d, mails sent: %d\n", id, customer, total/100, total%100, mailed)
	}
}
