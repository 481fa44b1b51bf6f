package webhook

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace"
)

const (
	// bodyTime is how long a body may take to arrive.
	bodyTime = 5 * time.Second
	// retryAfter is the header Retry-After of a 503, in seconds.
	retryAfter = "10"
	// logEvery is the least time between two log lines about refusals of an endpoint.
	logEvery = time.Minute
)

// endpoint is the handler of a URL.
type endpoint struct {
	source   *Source
	topic    string
	verifier Verifier
	keep     []string // names of headers, in canonical form

	mu      sync.Mutex
	refused int // since the last log line
	logged  time.Time
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code := e.serve(w, r)
	e.source.requests.Add(r.Context(), 1, metric.WithAttributes(
		attribute.String("headrace.endpoint", e.topic), attribute.Int("http.response.status_code", code)))
	switch code {
	case http.StatusOK:
		w.WriteHeader(code)
		return
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retryAfter)
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	}
	http.Error(w, http.StatusText(code), code)
}

// serve returns the status code of the answer.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) int {
	s := e.source
	if r.Method != http.MethodPost {
		return http.StatusMethodNotAllowed
	}
	if c := r.Header.Get("Content-Encoding"); c != "" && !strings.EqualFold(c, "identity") {
		return http.StatusUnsupportedMediaType
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return http.StatusServiceUnavailable
	}
	body, code := e.read(w, r)
	if code != 0 {
		return code
	}
	if err := e.verifier.mistake(); err != nil {
		e.log("the endpoint cannot verify requests", err)
		return http.StatusServiceUnavailable
	}
	id, err := e.verifier.Verify(Request{Header: r.Header, Body: body, Now: s.o.Now()})
	if err != nil {
		e.log("a webhook is refused", err)
		return http.StatusUnauthorized
	}
	return e.deliver(r, id, body)
}

// read returns the body, or the status code that says why there is none.
func (e *endpoint) read(w http.ResponseWriter, r *http.Request) (body []byte, code int) {
	// A recorder of a test has no connection, and so no deadlines.
	deadlines := http.NewResponseController(w)
	_ = deadlines.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, e.source.o.MaxBody))
	var large *http.MaxBytesError
	switch {
	case err == nil:
		_ = deadlines.SetReadDeadline(time.Time{})
		return body, 0
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout
	default:
		return nil, http.StatusBadRequest
	}
}

// deliver hands the message over, and waits until it is acknowledged.
func (e *endpoint) deliver(r *http.Request, id string, body []byte) int {
	s := e.source
	sub := s.enter(e.topic)
	if sub == nil {
		return http.StatusServiceUnavailable
	}
	m := e.message(sub, r, id, body)
	end := time.NewTimer(s.o.AckTimeout)
	defer end.Stop()
	taken := false
	select {
	case sub.out <- m:
		taken = true
	case <-sub.done:
	case <-end.C:
	case <-r.Context().Done():
	}
	sub.senders.Done()
	if !taken {
		return http.StatusServiceUnavailable
	}
	select {
	case <-m.Acked():
		return http.StatusOK
	case <-m.Nacked():
	case <-end.C:
	case <-r.Context().Done():
	}
	return http.StatusServiceUnavailable
}

func (e *endpoint) message(sub *subscription, r *http.Request, id string, body []byte) *message.Message {
	m := message.NewMessage(id, body)
	for _, name := range e.keep {
		if value := r.Header.Get(name); value != "" {
			m.Metadata.Set(name, value)
		}
	}
	m.SetContext(headrace.WithArrival(sub.ctx, headrace.Arrival{
		Coordinates: headrace.Coordinates{Broker: "webhook", Topic: e.topic}, Time: e.source.o.Now(),
	}))
	return m
}

// log tells of requests without an effect, at most once a minute.
func (e *endpoint) log(what string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused++
	if now := time.Now(); now.Sub(e.logged) >= logEvery {
		e.source.o.Logger.Warn(what, "topic", e.topic, "error", err.Error(), "requests", e.refused)
		e.logged, e.refused = now, 0
	}
}
