package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/webhook"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
	}
	goleak.VerifyTestMain(m)
}

const secret = "whsec_test"

// stripe signs body.
func stripe(secret, body string, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// github signs body.
func github(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// event is the body of an event.
func event(id string) string { return fmt.Sprintf(`{"id":%q,"type":"charge.paid"}`, id) }

// quiet are options without a log, and with times that a loaded machine keeps.
func quiet() webhook.Options {
	return webhook.Options{Logger: slog.New(slog.DiscardHandler), AckTimeout: 30 * time.Second, BodyTimeout: 30 * time.Second}
}

// newSource returns a source that is closed with the test.
func newSource(t *testing.T, o webhook.Options) *webhook.Source {
	t.Helper()
	s := webhook.NewSource(o)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// serve serves h over a real connection until the test ends.
func serve(t *testing.T, h http.Handler) (url string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return srv.URL
}

// post sends a request of Stripe, and returns the status of the answer.
func post(t *testing.T, url, body string) int {
	t.Helper()
	return send(t, url, body, map[string]string{"Stripe-Signature": stripe(secret, body, time.Now())})
}

func send(t *testing.T, url, body string, headers map[string]string) int {
	t.Helper()
	code, err := request(t.Context(), url, body, headers)
	if err != nil {
		t.Errorf("no answer: %v", err)
	}
	return code
}

func request(ctx context.Context, url, body string, headers map[string]string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// clock is a time that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// logMu protects buffers that a log writes to.
var logMu sync.Mutex

type lockedWriter struct{ w io.Writer }

func (l *lockedWriter) Write(p []byte) (int, error) {
	logMu.Lock()
	defer logMu.Unlock()
	return l.w.Write(p)
}

func logged(text fmt.Stringer) string {
	logMu.Lock()
	defer logMu.Unlock()
	return text.String()
}

// waitFor waits until cond holds: for what happens without a signal to a test.
func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come")
		}
	}
}
