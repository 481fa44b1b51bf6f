package webhook_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/webhook"
)

// subscribe acknowledges what comes to the topic after f.
func subscribe(t *testing.T, s *webhook.Source, f func(m *message.Message)) {
	t.Helper()
	if err := s.Check(t.Context(), "stripe", consumer.Demands{Key: inbox.PayloadHash()}); err != nil {
		t.Fatal(err)
	}
	messages, err := s.Subscribe(t.Context(), "stripe")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m := range messages {
			f(m)
		}
	}()
	t.Cleanup(func() { _ = s.Close(); <-done })
}

// What is no request of the sender is refused without a reason, and never handed over.
//
//evidence:webhook-signed
func TestRefused(t *testing.T) {
	s := newSource(t, webhook.Options{Logger: quiet().Logger, MaxBody: 1 << 20})
	url := serve(t, s.Endpoint("stripe", webhook.Stripe(secret)))
	var handed atomic.Int64
	subscribe(t, s, func(m *message.Message) { handed.Add(1); m.Ack() })
	body := event("1")
	for name, c := range map[string]struct {
		body   string
		header string
		value  string
		want   int
	}{
		"unsigned":     {body, "X", "y", 401},
		"wrong secret": {body, "Stripe-Signature", stripe("other", body, time.Now()), 401},
		"old":          {body, "Stripe-Signature", stripe(secret, body, time.Now().Add(-6*time.Minute)), 401},
		"other body":   {event("2"), "Stripe-Signature", stripe(secret, body, time.Now()), 401},
		"compressed":   {body, "Content-Encoding", "gzip", 415},
		"2 MiB":        {strings.Repeat("x", 2<<20), "X", "y", 413},
	} {
		if got := send(t, url, c.body, map[string]string{c.header: c.value}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	if _ = answer.Body.Close(); answer.StatusCode != 405 || answer.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %d, Allow %q", answer.StatusCode, answer.Header.Get("Allow"))
	}
	if got := handed.Load(); got != 0 {
		t.Errorf("%d were handed over", got)
	}
	if got := post(t, url, body); got != 200 || handed.Load() != 1 {
		t.Errorf("signed: %d, %d handed over", got, handed.Load())
	}
}

// A client that sends its body slowly is cut off; one that waits long for its commit is not.
func TestSlowClient(t *testing.T) {
	o := quiet()
	o.BodyTimeout = 400 * time.Millisecond
	s := newSource(t, o)
	url := serve(t, s.Endpoint("stripe", webhook.Scheme{Verify: func(webhook.Request) (string, error) { return "1", nil }}))
	subscribe(t, s, func(m *message.Message) {
		time.Sleep(3 * o.BodyTimeout) // the time is what is tested
		m.Ack()
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _ = answer.Body.Close(); answer.StatusCode != 408 {
		t.Errorf("a slow body: %d", answer.StatusCode)
	}
	for _, body := range []string{event("1"), ""} {
		if got := post(t, url, body); got != 200 {
			t.Errorf("a slow commit of %q: %d", body, got)
		}
	}
}

// A request that is not acknowledged is answered with 503: there is no subscription, the topic
// is paused, the message was given back or took too long, or the source is closed.
func TestUnavailable(t *testing.T) {
	o := quiet()
	o.AckTimeout = 50 * time.Millisecond
	s := newSource(t, o)
	url := serve(t, s.Endpoint("stripe", webhook.Stripe(secret)))
	want := func(what string, code int) {
		t.Helper()
		if got := post(t, url, event("1")); got != code {
			t.Errorf("%s: %d, want %d", what, got, code)
		}
	}
	want("no subscription", 503)
	settle := make(chan func(*message.Message), 1)
	subscribe(t, s, func(m *message.Message) { (<-settle)(m) })
	ack := func(m *message.Message) { m.Ack() }
	settle <- func(m *message.Message) { m.Nack() }
	want("given back", 503)
	settle <- func(*message.Message) {}
	want("no answer", 503)
	s.Pause("stripe")
	s.Pause("stripe")
	want("paused", 503)
	s.Resume("stripe")
	s.Resume("stripe")
	settle <- ack
	want("resumed", 200)
	if err := s.Close(); err != nil || s.Close() != nil {
		t.Error(err)
	}
	want("closed", 503)
	if _, err := s.Subscribe(t.Context(), "stripe"); !errors.Is(err, webhook.ErrClosed) {
		t.Errorf("Subscribe after Close: %v", err)
	}
}

// A request that waits to be handed over is answered at once when the topic is paused.
func TestPauseEndsWaiting(t *testing.T) {
	o := quiet()
	o.AckTimeout, o.MaxInFlight = time.Hour, 1
	s := newSource(t, o)
	verified := make(chan struct{})
	url := serve(t, s.Endpoint("stripe", webhook.Scheme{SignsID: true, Verify: func(webhook.Request) (string, error) {
		close(verified)
		return "1", nil
	}}))
	if _, err := s.Subscribe(t.Context(), "stripe"); err != nil { // nothing is received from it
		t.Fatal(err)
	}
	code := make(chan int)
	go func() { code <- post(t, url, event("1")) }()
	<-verified
	if got := post(t, url, event("2")); got != 503 {
		t.Errorf("above MaxInFlight: %d", got)
	}
	s.Pause("stripe")
	if got := <-code; got != 503 {
		t.Errorf("paused: %d", got)
	}
}

// Each subscription gets the request, and all must acknowledge it.
func TestTwoSubscriptions(t *testing.T) {
	s := newSource(t, quiet())
	url := serve(t, s.Endpoint("stripe", webhook.Stripe(secret)))
	var one atomic.Int64
	subscribe(t, s, func(m *message.Message) { one.Add(1); m.Ack() })
	subscribe(t, s, func(m *message.Message) {
		if one.Add(1); m.UUID == "bad" {
			m.Nack()
		}
		m.Ack()
	})
	if got := post(t, url, event("good")); got != 200 || one.Load() != 2 {
		t.Errorf("%d after %d", got, one.Load())
	}
	if got := post(t, url, event("bad")); got != 503 {
		t.Errorf("one gave it back: %d", got)
	}
}

// The payload is the body; of the headers only those that were named are stored.
func TestMessage(t *testing.T) {
	o := quiet()
	o.Headers = []string{"X-Tenant"}
	s := newSource(t, o)
	url := serve(t, s.Endpoint("stripe", webhook.GitHub(secret)))
	got := make(chan *message.Message, 1)
	subscribe(t, s, func(m *message.Message) { got <- m; m.Ack() })
	body := "{ \"a\" :\t1}\n"
	code := send(t, url, body, map[string]string{
		"X-Hub-Signature-256": github(secret, body), "X-GitHub-Delivery": "d1", "X-GitHub-Event": "push", "Content-Type": "application/json",
		"Authorization": "Bearer x", "Cookie": "a=b", "X-Tenant": "acme", "X-Gitlab-Token": "x",
	})
	m := <-got
	if code != 200 || string(m.Payload) != body || m.UUID != "d1" {
		t.Errorf("%d, id %q, payload %q", code, m.UUID, m.Payload)
	}
	want := message.Metadata{"X-GitHub-Delivery": "d1", "X-GitHub-Event": "push", "content-type": "application/json", "X-Tenant": "acme"}
	if fmt.Sprint(m.Metadata) != fmt.Sprint(want) {
		t.Errorf("metadata %v, want %v", m.Metadata, want)
	}
}

// Mistakes are errors of Check and Subscribe, and until they are mended the answer is 503.
func TestMistakes(t *testing.T) {
	with := func(f func(o *webhook.Options)) webhook.Options { o := quiet(); f(&o); return o }
	fine := webhook.Stripe(secret)
	for want, c := range map[string]struct {
		o webhook.Options
		s webhook.Scheme
	}{
		"Options.MaxBody is negative":             {with(func(o *webhook.Options) { o.MaxBody = -1 }), fine},
		"Options.AckTimeout is 4ns: give it":      {with(func(o *webhook.Options) { o.AckTimeout = 4 }), fine},
		"Options.Retention is negative":           {with(func(o *webhook.Options) { o.Retention = -time.Hour }), fine},
		"Options.Headers: cookie has credentials": {with(func(o *webhook.Options) { o.Headers = []string{"cookie"} }), fine},
		"Stripe was given no secret":              {quiet(), webhook.Stripe()},
		"Stripe: secret 2 of 2 is empty":          {quiet(), webhook.Stripe(secret, "")},
		"GitHub: secret 1 of 1 begins or ends":    {quiet(), webhook.GitHub("x\n")},
		"Shopify: secret 1 of 1 is empty":         {quiet(), webhook.Shopify("")},
		"Standard: secret 1 of 1 is not whsec_":   {quiet(), webhook.Standard("whsec_?")},
		"secret 1 of 1 is not whsec_ and base64":  {quiet(), webhook.Standard("whsec_")},
		"the Scheme has no Verify":                {quiet(), webhook.Scheme{}},
		"Scheme.Headers: Authorization has":       {quiet(), webhook.Scheme{Verify: fine.Verify, Headers: []string{"Authorization"}}},
	} {
		s := newSource(t, c.o)
		h := s.Endpoint("stripe", c.s)
		for _, err := range []error{s.Check(t.Context(), "stripe", consumer.Demands{Key: inbox.PayloadHash()}), sub(t.Context(), s)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest("POST", "/", nil)); w.Code != 503 {
			t.Errorf("%s: %d", want, w.Code)
		}
	}
}

// A mistake of an endpoint is an error of each topic, since its own may be mistyped and have
// no handler.
func TestMistakeOfAnotherEndpoint(t *testing.T) {
	for want, register := range map[string]func(s *webhook.Source) http.Handler{
		`topic "": the topic is empty`: func(s *webhook.Source) http.Handler { return s.Endpoint("", webhook.Stripe(secret)) },
		"begins or ends with a blank":  func(s *webhook.Source) http.Handler { return s.Endpoint("github ", webhook.GitHub(secret)) },
		"GitHub was given no secret":   func(s *webhook.Source) http.Handler { return s.Endpoint("github", webhook.GitHub()) },
	} {
		s := newSource(t, quiet())
		_ = s.Endpoint("stripe", webhook.Stripe(secret))
		_ = register(s)
		for _, err := range []error{s.Check(t.Context(), "stripe", consumer.Demands{Key: inbox.PayloadHash()}), sub(t.Context(), s)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		}
	}
}

func sub(ctx context.Context, s *webhook.Source) error {
	_, err := s.Subscribe(ctx, "stripe")
	return err
}

// A topic without an endpoint is refused, and an endpoint that comes too late serves nothing.
func TestOrderOfCalls(t *testing.T) {
	s := newSource(t, quiet())
	if err := s.Check(t.Context(), "stripe", consumer.Demands{}); err == nil || !strings.Contains(err.Error(), "call Source.Endpoint") {
		t.Errorf("without an endpoint: %v", err)
	}
	other := newSource(t, quiet())
	other.Endpoint("stripe", webhook.Stripe(secret))
	other.Endpoint("github", webhook.GitHub(secret))
	if err := other.Check(t.Context(), "strpie", consumer.Demands{}); err == nil || !strings.Contains(err.Error(), `there are endpoints of "github", "stripe"`) {
		t.Errorf("a mistyped topic: %v", err)
	}
	url := serve(t, s.Endpoint("stripe", webhook.Stripe(secret)))
	subscribe(t, s, func(m *message.Message) { m.Ack() })
	late := serve(t, s.Endpoint("stripe", webhook.Stripe(secret)))
	if one, two := post(t, url, event("1")), post(t, late, event("1")); one != 200 || two != 503 {
		t.Errorf("%d, and %d of the late one", one, two)
	}
}

// Every request is counted, by topic and status.
func TestMetric(t *testing.T) {
	reader := metric.NewManualReader()
	o := quiet()
	o.MeterProvider = metric.NewMeterProvider(metric.WithReader(reader))
	s := newSource(t, o)
	url := serve(t, s.Endpoint("stripe", webhook.Stripe(secret)))
	post(t, url, event("1"))
	subscribe(t, s, func(m *message.Message) { m.Ack() })
	post(t, url, event("1"))
	post(t, url, event("1"))
	send(t, url, event("1"), nil)
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
				topic, _ := p.Attributes.Value("endpoint")
				code, _ := p.Attributes.Value("code")
				got[fmt.Sprint(m.Name, " ", topic.AsString(), " ", code.AsInt64(), " ", p.Attributes.Len())] = p.Value
			}
		}
	}
	const name = "headrace.webhook.requests stripe "
	if len(got) != 3 || got[name+"200 2"] != 2 || got[name+"401 2"] != 1 || got[name+"503 2"] != 1 {
		t.Errorf("%v", got)
	}
}
