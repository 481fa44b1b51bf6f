package ledger_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// posts posts with an idempotency key in a call, and returns what HTTP makes of the answer.
func posts(t *testing.T, client *http.Client, url string) (certainty ledger.Certainty, err error) {
	t.Helper()
	c := &ledger.Call{Key: "k"}
	ctx, cancel := context.WithTimeout(c.Trace(t.Context()), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", c.Key)
	answer, err := client.Do(r)
	if answer != nil {
		_ = answer.Body.Close()
	}
	err = ledger.HTTP(answer, err)
	return ledger.CertaintyOf(err, c), err
}

// What each status means.
//
//evidence:ledger
func TestHTTPStatus(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	for status, want := range map[int]ledger.Certainty{
		304: ledger.Unknown, 400: ledger.StatusRefused, 401: ledger.CertainlyNotSent, 402: ledger.StatusRefused, 403: ledger.CertainlyNotSent,
		404: ledger.StatusRefused, 408: ledger.Unknown, 409: ledger.Unknown, 422: ledger.StatusRefused, 423: ledger.Unknown, 425: ledger.Unknown,
		429: ledger.CertainlyNotSent, 500: ledger.Unknown, 502: ledger.Unknown, 503: ledger.Unknown, 504: ledger.Unknown,
	} {
		got, err := posts(t, server.Client(), fmt.Sprint(server.URL, "/", status))
		if err == nil || got != want || retry.IsPermanent(err) != (want == ledger.StatusRefused) {
			t.Errorf("%d: %v, %d, permanent %t", status, err, got, retry.IsPermanent(err))
		}
	}
	for _, status := range []int{200, 201, 202, 204} {
		if _, err := posts(t, server.Client(), fmt.Sprint(server.URL, "/", status)); err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	for header, want := range map[string]time.Duration{
		"": time.Second, "0": time.Second, "-3": time.Second, "7": 7 * time.Second, "999999999999": 15 * time.Minute, "soon": time.Second,
		now.Add(time.Minute).UTC().Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).UTC().Format(http.TimeFormat): time.Second,
	} {
		answer := &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {header}, "Date": {now.UTC().Format(http.TimeFormat)}}}
		if got, _, ok := retry.Postponed(ledger.HTTP(answer, nil)); !ok || got != want {
			t.Errorf("%q: %s", header, got)
		}
	}
}

// An error of the body after a 200 leaves the outcome open, and so does nothing at all.
func TestHTTPWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	if err := ledger.HTTP(&http.Response{StatusCode: 200}, boom); !errors.Is(err, boom) || ledger.CertaintyOf(err, nil) != ledger.Unknown {
		t.Errorf("%v", err)
	}
	if err := ledger.HTTP(nil, nil); err == nil || ledger.CertaintyOf(err, nil) != ledger.Unknown {
		t.Errorf("%v", err)
	}
}

// A connection that was never made did nothing.
func TestHTTPDial(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	_ = l.Close()
	if got, err := posts(t, http.DefaultClient, url); got != ledger.CertainlyNotSent {
		t.Errorf("%v: %d", err, got)
	}
}

// net/http sends a POST with an idempotency key again by itself. The server carries out
// the first one and breaks the connection; the repetition is refused. That says nothing of
// the first one.
//
//evidence:ledger
func TestHTTPRepeatedByGo(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]func(l net.Listener, c net.Conn){
		"connection refused": func(l net.Listener, c net.Conn) { _ = l.Close(); _ = c.Close() },
		"401": func(l net.Listener, c net.Conn) {
			_ = c.Close()
			next, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(next))
			_, _ = next.Write([]byte("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
			_ = next.Close()
			_ = l.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var carriedOut atomic.Int64
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				in := bufio.NewReader(c)
				warm, _ := http.ReadRequest(in) // net/http repeats only on a connection that was used
				if warm != nil {
					_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
				}
				if _, err := http.ReadRequest(in); err == nil {
					carriedOut.Add(1)
				}
				second(l, c)
			}()
			client := &http.Client{Transport: &http.Transport{}}
			t.Cleanup(client.CloseIdleConnections)
			url := "http://" + l.Addr().String()
			warm, err := client.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			_ = warm.Body.Close()
			if got, err := posts(t, client, url); err == nil || got != ledger.Unknown || carriedOut.Load() != 1 {
				t.Errorf("%v: %d, carried out %d times", err, got, carriedOut.Load())
			}
		})
	}
}

// Without the header net/http sends a POST once, also when its connection breaks: that is
// what docs/ledger.md tells those who call a system that drops no repetitions.
//
//evidence:ledger
func TestHTTPWithoutKeyIsSentOnce(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]int64{"": 1, "Idempotency-Key": 2} {
		var carriedOut atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				carriedOut.Add(1)
				panic(http.ErrAbortHandler)
			}
		}))
		warm, err := server.Client().Get(server.URL) // net/http repeats only on a connection that was used
		if err != nil {
			t.Fatal(err)
		}
		_ = warm.Body.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			r.Header.Set(header, "k")
		}
		if answer, err := server.Client().Do(r); err == nil {
			_ = answer.Body.Close()
			t.Errorf("%q: answer %d", header, answer.StatusCode)
		}
		if n := carriedOut.Load(); n != want {
			t.Errorf("with the header %q it was carried out %d times, want %d", header, n, want)
		}
		server.Close()
	}
}

// net/http follows a 302 with GET: an answer of 200, and nothing was posted. A redirect that
// keeps the method posts.
//
//evidence:ledger
func TestHTTPRedirect(t *testing.T) {
	t.Parallel()
	var posted atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/login", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /made", func(http.ResponseWriter, *http.Request) { posted.Add(1) })
	mux.Handle("/302", http.RedirectHandler("/login", http.StatusFound))
	mux.Handle("/307", http.RedirectHandler("/made", http.StatusTemporaryRedirect))
	mux.Handle("/gone", http.RedirectHandler("/nowhere", http.StatusFound))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for path, want := range map[string]bool{"/302": false, "/307": true, "/gone": false} {
		got, err := posts(t, server.Client(), server.URL+path)
		if (err == nil) != want || got != ledger.Unknown {
			t.Errorf("%s: %v, %d", path, err, got)
		}
	}
	if posted.Load() != 1 {
		t.Errorf("posted %d times", posted.Load())
	}
}

// Marks are found in the chain, and nil stays nil.
func TestCertainty(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for want, mark := range map[ledger.Certainty]func(error) error{
		ledger.CertainlyRefused: ledger.Refused, ledger.CertainlyNotSent: ledger.NotSent, ledger.AlreadyExists: ledger.Exists,
	} {
		err := fmt.Errorf("create invoice: %w", retry.Permanent(mark(boom)))
		if got := ledger.CertaintyOf(err, nil); got != want || !errors.Is(err, boom) {
			t.Errorf("%d: %d", want, got)
		}
		if mark(nil) != nil {
			t.Error("nil is an error")
		}
	}
	if got := ledger.CertaintyOf(ledger.Refused(ledger.NotSent(boom)), nil); got != ledger.CertainlyRefused {
		t.Errorf("the outermost is %d", got)
	}
	if got := ledger.CertaintyOf(boom, nil); got != ledger.Unknown {
		t.Errorf("an unmarked error is %d", got)
	}
}
