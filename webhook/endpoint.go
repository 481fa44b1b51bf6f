package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/encode"
)

// broker is Coordinates.Broker of the messages.
const broker = "webhook"

// again is the Retry-After of a 503, in seconds. Most senders have times of their own.
const again = "30"

// endpoint is the handler of one URL.
type endpoint struct {
	source   *Source
	name     string // of the topic
	topic    *topic
	verify   Verifier
	headers  []string
	refusals refusals
}

// Endpoint returns the handler of a URL. Its requests become messages of the topic name.
// Register it before the consumer runs; the mistakes that the package names are errors of Run.
// Mount it under a path of its own and, if you like, for POST only. A middleware in front of it
// must not change the body.
//
// A request blocks for at most Options.BodyTimeout and Options.AckTimeout. The handler may
// be called concurrently.
func (s *Source) Endpoint(name string, scheme Scheme) http.Handler {
	err := encode.Topic("the topic", name)
	if err == nil {
		err = scheme.validate()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topic(name)
	if err == nil && t.bound {
		err = errors.New("it was registered after Run began: call Source.Endpoint before Run")
	}
	if err != nil {
		err = fmt.Errorf("endpoint of topic %q: %w", name, err)
		s.o.Logger.Error("a webhook endpoint cannot serve: it answers 503", "error", err.Error())
	}
	e := &endpoint{source: s, name: name, topic: t, verify: scheme.Verify}
	e.headers = slices.Concat(scheme.Headers, s.o.Headers)
	e.refusals.endpoint = e
	t.refusals = append(t.refusals, &e.refusals)
	switch {
	case t.bound && err != nil:
		e.topic = &topic{mistake: err} // the topic's other endpoints go on
		return e
	case s.started:
		t.mistake = errors.Join(t.mistake, err)
	default: // an error of each Run: a topic that is mistyped may have no handler
		s.mistake = errors.Join(s.mistake, err)
	}
	t.served, t.exposed = true, t.exposed || !scheme.SignsID
	t.headers = append(t.headers, e.headers...)
	return e
}

// ServeHTTP answers one request.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code, why := e.serve(w, r)
	switch code {
	case http.StatusOK:
		w.WriteHeader(code)
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, http.StatusText(code), code)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", again)
		http.Error(w, http.StatusText(code), code)
	default:
		http.Error(w, http.StatusText(code), code)
	}
	if e.source.requests != nil {
		e.source.requests.Add(context.WithoutCancel(r.Context()), 1,
			metric.WithAttributes(attribute.String("endpoint", e.name), attribute.Int("code", code)))
	}
	if why != nil {
		e.refusals.refused(code, why)
	}
}

// serve returns the status of the answer; for a request that is refused also why.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) (code int, why error) {
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, nil
	}
	if !e.source.open(e.topic) {
		return http.StatusServiceUnavailable, nil
	}
	select {
	case e.source.slots <- struct{}{}:
		defer func() { <-e.source.slots }()
	default:
		return http.StatusServiceUnavailable, nil
	}
	if c := r.Header.Get("Content-Encoding"); c != "" && !strings.EqualFold(c, "identity") {
		return http.StatusUnsupportedMediaType, errCompressed
	}
	body, code, why := e.read(w, r)
	if code != http.StatusOK {
		return code, why
	}
	id, err := e.verify(Request{Header: r.Header, Body: body, Time: e.source.o.Now()})
	if err != nil {
		return http.StatusUnauthorized, err
	}
	e.refusals.accepted()
	ctx, cancel := context.WithTimeout(r.Context(), e.source.o.AckTimeout)
	defer cancel()
	if !e.source.deliver(ctx, e.topic, func() *message.Message { return e.message(r, id, body) }) {
		return http.StatusServiceUnavailable, nil
	}
	return http.StatusOK, nil
}

var (
	errCompressed = errors.New("the body is compressed")
	errLarge      = errors.New("the body is larger than Options.MaxBody")
	errSlow       = errors.New("the body did not arrive within Options.BodyTimeout")
)

// read returns the body, or the status of a refusal.
func (e *endpoint) read(w http.ResponseWriter, r *http.Request) (body []byte, code int, why error) {
	o := e.source.o
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(o.BodyTimeout)); err != nil {
		e.refusals.unlimited()
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, o.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, errLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout, errSlow
	case err != nil:
		return nil, http.StatusBadRequest, nil // the client went away
	}
	// After an empty body the server reads on already, and the deadline would end the request's
	// context while it waits for the commit.
	_ = control.SetReadDeadline(time.Time{})
	return body, http.StatusOK, nil
}

// message returns the message of a verified request. Each subscription gets one of its own.
func (e *endpoint) message(r *http.Request, id string, body []byte) *message.Message {
	m := message.NewMessage(id, body)
	if text := r.Header.Get("Content-Type"); text != "" {
		m.Metadata.Set("content-type", text)
	}
	for _, name := range e.headers {
		if text := r.Header.Get(name); text != "" {
			m.Metadata.Set(name, text)
		}
	}
	// The request may end before the message is settled.
	m.SetContext(headrace.WithArrival(context.WithoutCancel(r.Context()), headrace.Arrival{
		Coordinates: headrace.Coordinates{Broker: broker, Topic: e.name},
	}))
	return m
}
