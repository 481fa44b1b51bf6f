package intent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

const (
	// IdempotencyKeyHeader is the header of a request with its Request.Key.
	IdempotencyKeyHeader = "Idempotency-Key"
	// MaxWait is how long a request waits at most.
	MaxWait = 30 * time.Second
	// bodyTime is how long a body may take to arrive.
	bodyTime = 10 * time.Second
)

// Handler serves the intents of a Kind over HTTP.
//
// POST starts the intent that the header Idempotency-Key names, with the body as its value.
// GET says what became of one: it is named by the same header, or by the wildcard {key} of the
// pattern. With ?wait=10s it waits until the intent has ended, for MaxWait at most.
//
//	201  POST: started by this request
//	200  POST: started earlier, with the same content; GET: known
//	400  no Idempotency-Key, or one that is no key; a body that the codec cannot decode; a bad ?wait
//	401  no owner
//	404  GET: no such intent of the owner
//	405  another method
//	408  the body took longer than 10 seconds
//	413  the body is larger than Options.MaxBody
//	422  POST: the key was used with other content
//	503  the database is away or busy, or more than Options.MaxWaiters wait: repeat the request
//
// A repeated POST is answered as the first: the client repeats it until it has an answer, and
// the intent is handled once. Answers are JSON: see Status and Problem. They contain no texts
// of errors of the handler.
//
// owner says whom the request is of, such as the tenant of its token; "" is answered with 401,
// and so is an error, except one that matches ErrBusy, which is 503. It must not trust the
// request: a caller that can name another owner reads that owner's intents. A nil owner or client,
// and a Kind with a Key of its own, which has no owners, are errors.
func Handler[T any](k Kind[T], c *Client, owner func(*http.Request) (string, error)) (http.Handler, error) {
	switch {
	case owner == nil:
		return nil, errors.New("intent.Handler: owner is nil: without it anyone could read the intents of others")
	case c == nil:
		return nil, errors.New("intent.Handler: the client is nil")
	case k.Key != nil:
		return nil, fmt.Errorf("intent.Handler: the Kind of %s has a Key of its own, so its intents have no owners: start them from your own handler", k.Scope())
	}
	if err := k.validate(); err != nil {
		return nil, fmt.Errorf("intent.Handler: %w", err)
	}
	return &handler[T]{k, c, owner}, nil
}

type handler[T any] struct {
	kind   Kind[T]
	client *Client
	owner  func(*http.Request) (string, error)
}

// refusal is an answer without an intent.
type refusal struct {
	code int
	text string
	err  error // for the log; nil if it is the caller's
}

func (h *handler[T]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var got Intent
	var refused *refusal
	request, refused := h.identify(r)
	switch {
	case refused != nil:
	case r.Method == http.MethodPost:
		got, refused = h.post(w, r, request)
	default:
		got, refused = h.get(w, r, request)
	}
	w.Header().Set("Cache-Control", "no-store")
	if refused != nil {
		h.refuse(w, refused)
		return
	}
	code := http.StatusOK
	if got.New {
		code = http.StatusCreated
	}
	reply(w, code, status(request.Key, &got))
}

// identify returns the owner and the key of a request.
func (h *handler[T]) identify(r *http.Request) (request Request[T], refused *refusal) {
	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodHead:
	default:
		return request, &refusal{code: http.StatusMethodNotAllowed, text: "POST starts, GET asks"}
	}
	owner, err := h.owner(r)
	switch {
	case errors.Is(err, ErrBusy):
		return request, &refusal{code: http.StatusServiceUnavailable, text: "it is not known who asks: repeat the request"}
	case err != nil, owner == "":
		return request, &refusal{code: http.StatusUnauthorized, text: "it is not known who asks"}
	}
	keys := r.Header.Values(IdempotencyKeyHeader)
	if key := r.PathValue("key"); len(keys) == 0 && key != "" && r.Method != http.MethodPost {
		keys = []string{key}
	}
	if len(keys) != 1 || strings.TrimSpace(keys[0]) == "" {
		return request, &refusal{code: http.StatusBadRequest, text: "one header Idempotency-Key is required"}
	}
	return Request[T]{Owner: owner, Key: keys[0]}, nil
}

// post starts an intent.
func (h *handler[T]) post(w http.ResponseWriter, r *http.Request, request Request[T]) (Intent, *refusal) {
	body, refused := h.read(w, r)
	if refused != nil {
		return Intent{}, refused
	}
	if err := h.decode(r, body, &request.Value); err != nil {
		return Intent{}, &refusal{code: http.StatusBadRequest, text: "the body: " + err.Error()}
	}
	got, err := h.kind.Start(r.Context(), h.client, request)
	return got, h.failed(err)
}

// decode reads a body as the handler's payload would be read.
func (h *handler[T]) decode(r *http.Request, body []byte, into *T) error {
	c := h.kind.Codec
	if c == nil {
		c = codec.JSON()
	}
	decode, err := codec.Decoder(c, into)
	if err != nil {
		return err
	}
	return decode(&headrace.Delivery{Payload: body, Metadata: map[string]string{headrace.ContentTypeHeader: r.Header.Get("Content-Type")}}, into)
}

// read returns the body.
func (h *handler[T]) read(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // what cannot is bounded by the server
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.client.o.MaxBody))
	switch large := (*http.MaxBytesError)(nil); {
	case errors.As(err, &large):
		return nil, &refusal{code: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("the body is larger than %d bytes", large.Limit)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &refusal{code: http.StatusRequestTimeout, text: "the body took too long"}
	case err != nil:
		return nil, &refusal{code: http.StatusBadRequest, text: "the body broke off"}
	}
	// Otherwise the deadline would end the request's context while it waits.
	_ = control.SetReadDeadline(time.Time{})
	return body, nil
}

// get looks at an intent, and waits for its end if the request says so.
func (h *handler[T]) get(w http.ResponseWriter, r *http.Request, request Request[T]) (Intent, *refusal) {
	wait, err := waitOf(r)
	if err != nil {
		return Intent{}, &refusal{code: http.StatusBadRequest, text: err.Error()}
	}
	d := headrace.Delivery{Metadata: map[string]string{OwnerHeader: request.Owner, KeyHeader: request.Key}}
	key, err := inbox.Resolve(h.kind.key(), &d)
	if err != nil {
		return Intent{}, h.failed(fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	if wait == 0 {
		got, err := h.kind.Get(r.Context(), h.client, key)
		return got, h.failed(err)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + bodyTime)) // else the server's
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	got, err := h.kind.Await(ctx, h.client, key)
	if errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil { // it has not ended
		got, err = h.kind.Get(r.Context(), h.client, key)
	}
	return got, h.failed(err)
}

// waitOf returns how long the request waits; 0 if it does not.
func waitOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("wait is a duration, as in ?wait=10s")
	}
	return min(d, MaxWait), nil
}

// failed says what an error means for the caller; nil for nil.
func (h *handler[T]) failed(err error) *refusal {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrConflict):
		return &refusal{code: http.StatusUnprocessableEntity, text: "the Idempotency-Key was used with other content"}
	case errors.Is(err, ErrInvalid):
		return &refusal{code: http.StatusBadRequest, text: "the Idempotency-Key or the content is not valid"}
	case errors.Is(err, ErrUnknown):
		return &refusal{code: http.StatusNotFound, text: "no such intent"}
	case errors.Is(err, ErrTooManyWaiters):
		return &refusal{code: http.StatusServiceUnavailable, text: "too many requests wait: repeat the request"}
	}
	away := errors.Is(err, ErrBusy) || errors.Is(err, ErrClosed) || errors.Is(err, txn.ErrCommitUnknown) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || txn.Classify(err) != txn.Other
	if away {
		return &refusal{http.StatusServiceUnavailable, "the database is away or busy: repeat the request", err}
	}
	return &refusal{http.StatusInternalServerError, "it is not known what became of the request: repeat it", err}
}
