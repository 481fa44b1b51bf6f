package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/webhook"
)

// order is what the shop sends.
type order struct {
	ID    int    `json:"id"`
	Email string `json:"email"`
	Total int    `json:"total"`
}

// made is what a system answers: the id of what it has made.
type made struct {
	ID string `json:"id"`
}

// systems are the four other systems, and the steps of an order at them.
type systems struct {
	url  string
	http *http.Client

	customer, invoice, booking, commission ledger.Step[made]
	confirm                                ledger.Step[struct{}]
}

// Times of all calls: they are short here, so that the program ends soon.
const (
	timeout   = time.Second
	findAfter = time.Second // the systems work on for no longer than that
)

func newSystems(at string) *systems {
	s := &systems{
		url: at, http: &http.Client{},
		// A PUT, which may be repeated at any time.
		customer: ledger.Step[made]{Name: "customer", System: "erp", Recover: ledger.Retry, KeyWindow: ledger.Forever, Timeout: timeout, FindAfter: findAfter},
		// The accounts drop repetitions of a key for a day.
		booking: ledger.Step[made]{Name: "booking", System: "accounts", Recover: ledger.Retry, KeyWindow: 24 * time.Hour, Timeout: timeout, FindAfter: findAfter},
		// A payment can neither be repeated nor searched: a person decides.
		commission: ledger.Step[made]{Name: "commission", System: "bank", Recover: ledger.Park, Timeout: timeout, FindAfter: findAfter},
		// A mail: a loss is better than a double.
		confirm: ledger.Step[struct{}]{Name: "confirm", System: "mail", Recover: ledger.Skip, Timeout: timeout},
	}
	// A POST that makes a second invoice when it is repeated, but the ERP can be searched.
	s.invoice = ledger.Step[made]{Name: "invoice", System: "erp", Recover: ledger.Probe, Find: s.findInvoice, Timeout: timeout, FindAfter: findAfter}
	return s
}

// newConsumer returns the consumer of the orders that hooks receives.
func newConsumer(st store.Store, s *systems, hooks *webhook.Source, config consumer.Config) (*consumer.Consumer, error) {
	config.Retry = retry.Policy{MaxAttempts: 20, Backoff: retry.Backoff{Initial: 100 * time.Millisecond, Max: time.Second, Jitter: 0.2}}
	c, err := consumer.New("billing", st, config)
	if err != nil {
		return nil, err
	}
	consumer.HandleLeased(c, "orders", s.sync, consumer.From(hooks),
		consumer.Key(inbox.Join(inbox.Literal("order"), inbox.JSON("id"))), // the shop signs the body alone
		consumer.Steps(s.customer, s.invoice, s.booking, s.commission, s.confirm),
		consumer.Concurrency(8), consumer.Lease(2*time.Second)) // 30 s by default
	return c, nil
}

// sync brings an order into all systems, and records it. A run after a failure or a kill
// gets what earlier runs have recorded, and calls only what is left.
func (s *systems) sync(ctx context.Context, m *headrace.Message[order]) (headrace.Effects, error) {
	o := m.Body
	customer, err := s.customer.Input(o.Email).Do(ctx, s.send(http.MethodPut, "/erp/customers", o, ""))
	if err != nil {
		return nil, err
	}
	invoice, err := s.invoice.Input(o.Total).Do(ctx, s.post("/erp/invoices", o, customer.ID))
	if err != nil {
		return nil, err
	}
	if _, err := s.booking.Input(invoice.ID).Do(ctx, s.post("/accounts/bookings", o, invoice.ID)); err != nil {
		return nil, err
	}
	if _, err := s.commission.Input(o.Total).Do(ctx, s.post("/bank/payouts", o, "")); err != nil {
		return nil, err
	}
	if _, err := s.confirm.Do(ctx, func(ctx context.Context, c *ledger.Call) (none struct{}, err error) {
		_, err = s.post("/mail/mails", o, "")(ctx, c)
		return none, err
	}); err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx *headrace.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO synced (order_id, invoice_id) VALUES ($1, $2)", o.ID, invoice.ID)
		return err
	}, nil
}

// call is the function of a step.
type call = func(context.Context, *ledger.Call) (made, error)

func (s *systems) post(path string, o order, of string) call {
	return s.send(http.MethodPost, path, o, of)
}

// send sends an order, and the id of what it belongs to, under the step's key. It returns
// what the system has made.
func (s *systems) send(method, path string, o order, of string) call {
	return func(ctx context.Context, c *ledger.Call) (got made, err error) {
		body, err := json.Marshal(o)
		if err != nil {
			return got, ledger.NotSent(err)
		}
		r, err := http.NewRequestWithContext(ctx, method, s.url+path+"?"+url.Values{"of": {of}, "reference": {c.Key}}.Encode(), bytes.NewReader(body))
		if err != nil {
			return got, ledger.NotSent(err)
		}
		if strings.HasPrefix(path, "/accounts/") { // net/http sends such a POST twice by itself
			r.Header.Set("Idempotency-Key", c.Key)
		}
		answer, err := s.http.Do(r)
		if err == nil {
			defer func() { _ = answer.Body.Close() }()
			if answer.StatusCode < 300 {
				err = json.NewDecoder(answer.Body).Decode(&got)
			}
		}
		c.SetID(got.ID) // headrace steps find erp ID
		return got, ledger.HTTP(answer, err)
	}
}

// findInvoice asks the ERP for the invoice of a key.
func (s *systems) findInvoice(ctx context.Context, c *ledger.Call) (got made, found bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/erp/invoices?reference="+c.Key, http.NoBody)
	if err != nil {
		return got, false, err
	}
	answer, err := s.http.Do(r)
	if err != nil {
		return got, false, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusNotFound {
		return got, false, nil
	}
	if err := ledger.HTTP(answer, nil); err != nil {
		return got, false, err
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		return got, false, err
	}
	c.SetID(got.ID)
	return got, true, nil
}
