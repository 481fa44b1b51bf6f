package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
)

// mail is what a customer writes.
type mail struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// mails are started by whatever reads the mailbox, as often as it likes: a mail has one key.
var mails = intent.Kind[mail]{Consumer: "support", Handler: "mails", Key: inbox.Join(inbox.Literal("mail"), inbox.JSON("id"))}

// prompt is all that an answer of the model depends on.
type prompt struct {
	Model   string `json:"model"`
	Version int    `json:"version"` // of the prompt and of class
	Text    string `json:"text"`
}

// class is an answer of the model.
type class struct {
	Refund bool   `json:"refund"`
	Reply  string `json:"reply"`
}

// model is a language model.
type model interface {
	classify(ctx context.Context, p prompt) (class, error)
}

// made is what another system answers: the id of what it has made.
type made struct {
	ID string `json:"id"`
}

// Times of all calls: they are short here, so that the program ends soon.
const (
	timeout   = time.Second
	findAfter = time.Second // the systems work on for no longer than that
)

var (
	// A call costs money, and does nothing else. For a day mails of one text have one answer.
	classify = ledger.Step[class]{Name: "classify", System: "model", Recover: ledger.Retry, KeyWindow: ledger.Forever, Timeout: timeout, Memo: 24 * time.Hour}
	// A person approves a refund, or three days without an answer are a no.
	approval = ledger.Signal[bool]{Name: "approval", Timeout: 72 * time.Hour}
	// A payment can neither be repeated nor searched: a person decides.
	refund = ledger.Step[made]{Name: "refund", System: "bank", Recover: ledger.Park, Timeout: timeout, FindAfter: findAfter}
)

// triage handles mails.
type triage struct {
	model model
	url   string // of the desk and the bank
	http  *http.Client
	// ticket is a POST that makes a second ticket when it is repeated, but the desk can be
	// searched.
	ticket ledger.Step[made]
}

func newTriage(m model, url string) *triage {
	t := &triage{model: m, url: url, http: &http.Client{}}
	t.ticket = ledger.Step[made]{Name: "ticket", System: "desk", Recover: ledger.Probe, Find: t.findTicket, Timeout: timeout, FindAfter: findAfter}
	return t
}

// newConsumer returns the consumer of the mails.
func newConsumer(st store.Store, t *triage) (*consumer.Consumer, error) {
	c, err := consumer.New("support", st, consumer.Config{
		Retry: retry.Policy{MaxAttempts: 20, Backoff: retry.Backoff{Initial: 100 * time.Millisecond, Max: time.Second, Jitter: 0.2}},
	})
	if err != nil {
		return nil, err
	}
	consumer.HandleLeased(c, "mails", t.handle, consumer.Local(), mails.Option(), consumer.Steps(classify, t.ticket, approval, refund),
		consumer.Concurrency(8), consumer.Lease(2*time.Second)) // 30 s by default
	return c, nil
}

// handle makes a ticket of a mail, and a refund. Which steps it comes to depends on the
// model's answer, and the answer is recorded: it is the same in each run of the mail.
func (t *triage) handle(ctx context.Context, m *headrace.Message[mail]) (headrace.Effects, error) {
	p := prompt{Model: "small-2", Version: 1, Text: m.Body.Text}
	answer, err := classify.Input(p).Do(ctx, func(ctx context.Context, _ *ledger.Call) (class, error) { return t.model.classify(ctx, p) })
	if err != nil {
		return nil, err
	}
	ticket, err := t.ticket.Input(answer).Do(ctx, t.post("/desk/tickets", request{Mail: m.Body.ID, Text: m.Body.Text, Class: answer}))
	if err != nil {
		return nil, err
	}
	paid := made{}
	if answer.Refund {
		approved, err := approval.Await(ctx)
		if errors.Is(err, ledger.ErrNoSignal) {
			approved, err = false, nil
		}
		if err != nil {
			return nil, err // the message waits in the database
		}
		if approved {
			if paid, err = refund.Input(m.Body.ID).Do(ctx, t.post("/bank/refunds", request{Mail: m.Body.ID})); err != nil {
				return nil, err
			}
		}
	}
	return func(ctx context.Context, tx *headrace.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO answered (mail_id, ticket_id, refund_id) VALUES ($1, $2, $3)", m.Body.ID, ticket.ID, paid.ID)
		return err
	}, nil
}

// request is what the desk and the bank get.
type request struct {
	Mail  int    `json:"mail"`
	Text  string `json:"text,omitempty"`
	Class class  `json:"class"`
}

// post sends a request under the step's key, and returns what the system has made.
func (t *triage) post(path string, body request) func(context.Context, *ledger.Call) (made, error) {
	return func(ctx context.Context, c *ledger.Call) (got made, err error) {
		answer, err := send(ctx, t.http, http.MethodPost, t.url+path+"?"+url.Values{"reference": {c.Key}}.Encode(), body, &got)
		c.SetID(got.ID) // headrace steps find desk ID
		return got, ledger.HTTP(answer, err)
	}
}

// findTicket asks the desk for the ticket of a key.
func (t *triage) findTicket(ctx context.Context, c *ledger.Call) (got made, found bool, err error) {
	answer, err := send(ctx, t.http, http.MethodGet, t.url+"/desk/tickets?"+url.Values{"reference": {c.Key}}.Encode(), nil, &got)
	if answer != nil && answer.StatusCode == http.StatusNotFound {
		return got, false, nil
	}
	c.SetID(got.ID)
	return got, err == nil, ledger.HTTP(answer, err)
}

// httpModel is a model behind an HTTP API.
type httpModel struct {
	url  string
	http *http.Client
}

func (m httpModel) classify(ctx context.Context, p prompt) (got class, err error) {
	answer, err := send(ctx, m.http, http.MethodPost, m.url+"/model/answers", p, &got)
	return got, ledger.HTTP(answer, err)
}

// send sends body as JSON, and decodes an answer below 300 into got. The body of the answer is closed.
func send(ctx context.Context, client *http.Client, method, url string, body, got any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, ledger.NotSent(err)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return nil, ledger.NotSent(err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode < 300 {
		err = json.NewDecoder(answer.Body).Decode(got)
	}
	return answer, err
}
