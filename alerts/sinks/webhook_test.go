package sinks_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/sinks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const whsec = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// receiver is a TLS server on this machine, and a hook that may reach it.
func receiver(t *testing.T, handler http.HandlerFunc, change func(*sinks.Options)) (alerts.Hook, *httptest.Server) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	o := sinks.Options{Allow: loopback, RootCAs: pool}
	if change != nil {
		change(&o)
	}
	hook, err := sinks.Webhook(server.URL+"/hook?token=canary", whsec, o)
	if err != nil {
		t.Fatal(err)
	}
	return hook, server
}

var full = alerts.Alert{
	ID: "alert-1", Kind: alerts.GroupFailing, Consumer: "billing", Handler: "{{.Secret}}\r\nX: y", Topic: strings.Repeat("é", 4000),
	Class: "permanent", ErrorFingerprint: "f00", LetterID: 7, Text: "</script>\xff", Count: 3, Groups: 1,
	Since: time.Unix(1, 0), At: time.Unix(2, 0),
}

// The headers and the signature of the Standard Webhooks specification; bad input 47 of
// INVARIANTS: what looks like a template or markup is text.
func TestWebhook(t *testing.T) {
	var ids []string
	hook, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		k, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(whsec, "whsec_"))
		mac := hmac.New(sha256.New, k)
		mac.Write([]byte(r.Header.Get("webhook-id") + "." + r.Header.Get("webhook-timestamp") + "." + string(body)))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("webhook-signature") != want {
			t.Errorf("signature %q, want %q", r.Header.Get("webhook-signature"), want)
		}
		ids = append(ids, r.Header.Get("webhook-id"))
		var got struct {
			Version   int
			Type      string
			Timestamp time.Time
			Data      map[string]any
		}
		if err := json.Unmarshal(body, &got); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s, %v", r.Method, err)
		}
		if got.Version != 1 || got.Type != "headrace.group_failing" || !got.Timestamp.Equal(full.At) || got.Data["handler"] != full.Handler ||
			got.Data["letter_id"] != 7.0 || got.Data["count"] != 3.0 || got.Data["since"] != "1970-01-01T00:00:01Z" || len(got.Data["topic"].(string)) != 1024 {
			t.Errorf("body %s", body)
		}
		if bytes.Contains(body, []byte("</script>")) || r.URL.Query().Get("token") != "canary" {
			t.Errorf("url %s, body %s", r.URL, body)
		}
		w.WriteHeader(http.StatusNoContent)
	}, nil)
	for range 2 {
		if err := hook(t.Context(), full); err != nil {
			t.Errorf("error %v", err)
		}
	}
	if len(ids) != 2 || ids[0] != "alert-1" || ids[1] != "alert-1" {
		t.Errorf("ids %q", ids)
	}
}

// FAULT 66 of INVARIANTS: what a receiver may do to us.
func TestWebhookFaults(t *testing.T) {
	hang := func(r *http.Request) { // until the client is gone
		_, _ = io.ReadAll(r.Body)
		<-r.Context().Done()
	}
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inside.Close()
	answer := func(status int, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte("canary"))
		}
	}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		change  func(*sinks.Options)
		status  int
		after   time.Duration
		is      error
	}{
		"500":              {handler: answer(500, "Retry-After", "60"), status: 500},
		"404":              {handler: answer(404), status: 404},
		"429":              {handler: answer(429, "Retry-After", "60"), status: 429, after: time.Minute},
		"503 for long":     {handler: answer(503, "Retry-After", "99999"), status: 503, after: 15 * time.Minute},
		"302 to metadata":  {handler: answer(302, "Location", "http://169.254.169.254/"), status: 302},
		"307 inside":       {handler: answer(307, "Location", inside.URL), status: 307},
		"hang":             {handler: func(_ http.ResponseWriter, r *http.Request) { hang(r); panic(http.ErrAbortHandler) }, change: func(o *sinks.Options) { o.Timeout = 50 * time.Millisecond }, is: context.DeadlineExceeded},
		"hang in the body": {handler: func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); w.(http.Flusher).Flush(); hang(r) }, change: func(o *sinks.Options) { o.Timeout = time.Second }, status: 500},
		"huge header":      {handler: answer(200, "X", strings.Repeat("x", 64<<10))},
		"broken":           {handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"unknown signer":   {handler: answer(200), change: func(o *sinks.Options) { o.RootCAs = x509.NewCertPool() }},
	} {
		t.Run(name, func(t *testing.T) {
			hook, _ := receiver(t, tt.handler, tt.change)
			begin := time.Now()
			err := hook(t.Context(), full)
			var failed *alerts.SendError
			if !errors.As(err, &failed) || failed.Status != tt.status || failed.RetryAfter != tt.after {
				t.Fatalf("error %#v", err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v", err)
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "token") || time.Since(begin) > 5*time.Second {
				t.Errorf("after %s: %v", time.Since(begin), err)
			}
		})
	}
	if reached.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// FAULT 66: no more of an answer is read than the cap, however large it is.
func TestWebhookHugeBody(t *testing.T) {
	ended := make(chan int64, 1)
	hook, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		var written int64
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for written < 1<<30 {
			n, err := w.Write(chunk)
			if written += int64(n); err != nil {
				break
			}
		}
		ended <- written
	}, nil)
	if err := hook(t.Context(), full); err != nil {
		t.Errorf("error %v", err)
	}
	if n := <-ended; n >= 1<<30 {
		t.Errorf("%d bytes were taken", n)
	}
}

// FAULT 66, DNS rebinding: what counts is the address that is dialed, not the name.
func TestWebhookRefusesResolvedAddress(t *testing.T) {
	var reached atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer server.Close()
	url := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	// A network is allowed, so that the name alone is not refused; it resolves to another.
	hook, err := sinks.Webhook(url, whsec, sinks.Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := hook(t.Context(), full); !errors.Is(err, sinks.ErrAddress) || reached.Load() != 0 {
		t.Errorf("error %v, reached %d times", err, reached.Load())
	}
}
