package ledger_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// say posts to each url in one call, and returns what HTTP makes of the last answer.
func say(t *testing.T, client *http.Client, c *ledger.Call, ctx context.Context, urls ...string) (ledger.Certainty, error) {
	t.Helper()
	var answer *http.Response
	for _, url := range urls {
		r, err := http.NewRequestWithContext(c.Trace(ctx), http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if answer, err = client.Do(r); err != nil {
			err = ledger.HTTP(nil, err)
			return ledger.CertaintyOf(err, c), err
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	err := ledger.HTTP(answer, nil)
	return ledger.CertaintyOf(err, c), err
}

// A request that gets no connection did nothing, whatever the reason is.
//
//evidence:ledger
func TestHTTPWithoutAConnection(t *testing.T) {
	t.Parallel()
	listen := func(serve func(net.Conn)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				serve(c)
			}
		}()
		return l.Addr().String()
	}
	closes := listen(func(c net.Conn) { _ = c.Close() })
	silent := listen(func(net.Conn) {})
	unknownCA := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(unknownCA.Close)
	proxy := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	never := func(ctx context.Context, _, _ string) (net.Conn, error) { // as with packets that a firewall drops
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for name, x := range map[string]struct {
		transport *http.Transport
		url       string
		want      ledger.Certainty
	}{
		"the handshake breaks":          {&http.Transport{}, "https://" + closes, ledger.CertainlyNotSent},
		"the handshake hangs":           {&http.Transport{}, "https://" + silent, ledger.CertainlyNotSent},
		"a certificate of another":      {&http.Transport{}, unknownCA.URL, ledger.CertainlyNotSent},
		"no proxy":                      {&http.Transport{Proxy: http.ProxyURL(proxy)}, "http://example.com", ledger.CertainlyNotSent},
		"no answer to the dial":         {&http.Transport{DialContext: never}, "http://example.com", ledger.CertainlyNotSent},
		"it breaks after the request":   {&http.Transport{}, "http://" + closes, ledger.Unknown},
		"it is silent with the request": {&http.Transport{}, "http://" + silent, ledger.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer x.transport.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if got, err := say(t, &http.Client{Transport: x.transport}, &ledger.Call{Key: "k"}, ctx, x.url); got != x.want {
				t.Errorf("%d, want %d: %v", got, x.want, err)
			}
		})
	}
}

// A refusal is certain only of the request that it answers: an earlier one of the call may have
// done something, also one that a client sent again by itself.
//
//evidence:ledger
func TestHTTPOfTwoRequests(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/refused":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case "/unauthorized":
			w.WriteHeader(http.StatusUnauthorized)
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/moved":
			http.Redirect(w, r, "/refused", http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(server.Close)
	for paths, want := range map[string]ledger.Certainty{
		"/refused": ledger.StatusRefused, "/moved": ledger.StatusRefused, "/unauthorized": ledger.CertainlyNotSent,
		"/done /refused": ledger.Unknown, "/busy /refused": ledger.Unknown, "/done /unauthorized": ledger.Unknown, "/done /moved": ledger.Unknown,
	} {
		var urls []string
		for _, path := range strings.Fields(paths) {
			urls = append(urls, server.URL+path)
		}
		if got, err := say(t, server.Client(), &ledger.Call{Key: "k"}, t.Context(), urls...); got != want || err == nil {
			t.Errorf("%s: %d, want %d: %v", paths, got, want, err)
		}
	}
}

// What has no final status says nothing.
func TestHTTPWithoutAFinalStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{0, 100, 101, 199} {
		err := ledger.HTTP(&http.Response{StatusCode: status}, nil)
		if err == nil || ledger.CertaintyOf(err, nil) != ledger.Unknown || retry.IsPermanent(err) {
			t.Errorf("%d: %v", status, err)
		}
	}
}
