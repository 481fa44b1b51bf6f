package intent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store/postgres"
)

// ownerOf takes the owner from a header that stands for a token.
func ownerOf(r *http.Request) (string, error) {
	switch token := r.Header.Get("Authorization"); token {
	case "broken":
		return "acme", errors.New("not a token")
	case "later":
		return "", intent.ErrBusy
	default:
		return token, nil
	}
}

// api is a server of orders.
type api struct {
	*bed
	url string
}

func (b *bed) serve(client *intent.Client) *api {
	b.Helper()
	h, err := intent.Handler(orders, client, ownerOf)
	if err != nil {
		b.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/orders", h)
	mux.Handle("GET /orders/{key}", h)
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	return &api{b, server.URL}
}

// reply is an answer of the server.
type reply struct {
	code   int
	header http.Header
	intent.Status
	intent.Problem
}

// do sends a request of an owner.
func (a *api) do(method, path, owner, key, body string) (got reply) {
	a.Helper()
	r, err := http.NewRequestWithContext(a.ctx(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.Fatal(err)
	}
	r.Header.Set("Authorization", owner)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		a.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Fatal(err)
	}
	got.code, got.header = resp.StatusCode, resp.Header
	if err := json.Unmarshal(text, &got); err != nil || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Cache-Control") != "no-store" {
		a.Errorf("%s %s: %v: %q, %v", method, path, err, text, resp.Header)
	}
	if (got.code >= 400) != (got.Error != "") {
		a.Errorf("%s %s: %d %q", method, path, got.code, text)
	}
	return got
}

func (a *api) want(code int, got reply) reply {
	a.Helper()
	if got.code != code {
		a.Errorf("%d %s, not %d", got.code, got.Error, code)
	}
	return got
}

// A client starts an intent, repeats the request, waits and asks. The same value over Go is
// the same intent.
func TestHTTP(t *testing.T) {
	onEachStore(t, func(b *bed) {
		a := b.serve(b.client)
		if got := a.want(201, a.do("POST", "/orders", "acme", "m:1", `{"id":1,"total":"9.90"}`)); got.State != inbox.Waiting || got.Key != "m:1" || got.Since.IsZero() {
			b.Errorf("%+v", got)
		}
		a.want(200, a.do("POST", "/orders", "acme", "m:1", `{"total":"9.90", "id":1}`))
		if over := b.start(request("acme", "m:1", 1)); over.New {
			b.Errorf("%+v", over)
		}
		a.want(422, a.do("POST", "/orders", "acme", "m:1", `{"id":2,"total":"9.90"}`))
		if got := a.want(200, a.do("GET", "/orders", "acme", "m:1", "")); got.State != inbox.Waiting {
			b.Errorf("%+v", got)
		}
		before := time.Now()
		if got := a.want(200, a.do("GET", "/orders/m%3A1?wait=20ms", "acme", "", "")); got.State != inbox.Waiting || time.Since(before) < 20*time.Millisecond {
			b.Errorf("%+v", got)
		}
		b.process(b.st, 1, handles(applied))
		if got := a.want(200, a.do("GET", "/orders/m%3A1?wait=5m", "acme", "", "")); got.State != inbox.Done || string(got.Answer) != `{"number":10}` {
			b.Errorf("%+v", got)
		}
		if got := a.want(200, a.do("POST", "/orders", "acme", "m:1", `{"id":1,"total":"9.90"}`)); string(got.Answer) != `{"number":10}` {
			b.Errorf("%+v", got)
		}
	})
}

// A dead intent is answered with its letter's number and class, and without the error's text.
func TestHTTPOfADeadIntent(t *testing.T) {
	onEachStore(t, func(b *bed) {
		a := b.serve(b.client)
		b.process(b.st, 1, handles(func(context.Context, *headrace.Tx, *headrace.Message[order]) error {
			return errors.New("card 4111 refused")
		}))
		a.want(201, a.do("POST", "/orders", "acme", "k", `{"id":1}`))
		got := a.want(200, a.do("GET", "/orders?wait=30s", "acme", "k", ""))
		if got.State != inbox.Dead || got.Letter == 0 || got.Class != "exhausted" || got.Attempts != 1 || got.Answer != nil {
			b.Errorf("%+v", got)
		}
		if text, _ := json.Marshal(got.Status); strings.Contains(string(text), "4111") {
			b.Errorf("%s", text)
		}
	})
}

// A tenant sees and blocks no intent of another, whatever the keys are.
//
//evidence:intent-owner
func TestTenants(t *testing.T) {
	onEachStore(t, func(b *bed) {
		a := b.serve(b.client)
		for _, pair := range [][2]string{{"acme", "b:k"}, {"acme:b", "k"}, {"beta", "b:k"}, {`acme\`, ":b:k"}} {
			for _, other := range [][2]string{{"acme", "k"}, {pair[0], "other"}} {
				a.want(404, a.do("GET", "/orders", other[0], other[1], ""))
			}
			a.want(404, a.do("GET", "/orders", pair[0], pair[1], ""))
			a.want(201, a.do("POST", "/orders", pair[0], pair[1], `{"id":`+string(rune('1'+len(pair[0])))+`}`))
			a.want(200, a.do("GET", "/orders", pair[0], pair[1], ""))
		}
	})
}

// What is wrong with a request is said by the code, and nothing is written.
func TestHTTPRefusals(t *testing.T) {
	onEachStore(t, func(b *bed) {
		a := b.serve(b.newClient(b.st, intent.Options{MaxBody: 100, MaxWaiters: 1}))
		for name, c := range map[string]struct {
			code                           int
			method, path, owner, key, body string
		}{
			"no owner":            {401, "POST", "/orders", "", "k", `{"id":1}`},
			"no owner, to read":   {401, "GET", "/orders", "", "k", ""},
			"a bad token":         {401, "POST", "/orders", "broken", "k", `{"id":1}`},
			"the tokens are away": {503, "POST", "/orders", "later", "k", `{"id":1}`},
			"no key":              {400, "POST", "/orders", "acme", "", `{"id":1}`},
			"no key, to read":     {400, "GET", "/orders", "acme", "", ""},
			"a long key":          {400, "POST", "/orders", "acme", strings.Repeat("k", inbox.MaxKeyBytes), `{"id":1}`},
			"a long key, to read": {400, "GET", "/orders", "acme", strings.Repeat("k", inbox.MaxKeyBytes), ""},
			"no JSON":             {400, "POST", "/orders", "acme", "k", `{"id":`},
			"no body":             {400, "POST", "/orders", "acme", "k", ""},
			"a large body":        {413, "POST", "/orders", "acme", "k", `{"total":"` + strings.Repeat("9", 100) + `"}`},
			"a method":            {405, "PUT", "/orders", "acme", "k", `{"id":1}`},
			"a wait":              {400, "GET", "/orders?wait=soon", "acme", "k", ""},
			"unknown":             {404, "GET", "/orders?wait=10s", "acme", "k", ""},
		} {
			if got := a.do(c.method, c.path, c.owner, c.key, c.body); got.code != c.code || got.code == 503 && got.header.Get("Retry-After") == "" {
				b.Errorf("%s: %d %s, not %d", name, got.code, got.Error, c.code)
			}
		}
		if n := b.count("SELECT count(*) FROM headrace_inbox"); n != 0 {
			b.Errorf("%d rows", n)
		}
		b.start(request("acme", "k", 1))
		var wg sync.WaitGroup
		codes := make([]int, 2)
		for n := range codes {
			wg.Go(func() { codes[n] = a.do("GET", "/orders?wait=3s", "acme", "k", "").code })
		}
		wg.Wait()
		if codes[0]+codes[1] != 200+503 {
			b.Errorf("two wait where one may: %v", codes)
		}
	})
}

// Mistakes are told at construction.
func TestHandlerMistakes(t *testing.T) {
	onEachStore(t, func(b *bed) {
		own := orders
		own.Key = inbox.JSON("id")
		nameless := orders
		nameless.Consumer = "a/b"
		for want, make := range map[string]func() (http.Handler, error){
			"owner is nil":      func() (http.Handler, error) { return intent.Handler(orders, b.client, nil) },
			"the client is nil": func() (http.Handler, error) { return intent.Handler(orders, nil, ownerOf) },
			"a Key of its own":  func() (http.Handler, error) { return intent.Handler(own, b.client, ownerOf) },
			"contains a slash":  func() (http.Handler, error) { return intent.Handler(nameless, b.client, ownerOf) },
		} {
			if h, err := make(); h != nil || err == nil || !strings.Contains(err.Error(), want) {
				b.Errorf("%v, not %q", err, want)
			}
		}
		for want, o := range map[string]intent.Options{"MaxWaiters": {MaxWaiters: -1}, "MaxBody": {MaxBody: -1}, "Window": {Window: -1}} {
			if c, err := intent.NewClient(b.st, o); c != nil || err == nil || !strings.Contains(err.Error(), want) {
				b.Errorf("%v, not %q", err, want)
			}
		}
		if _, err := intent.NewClient(nil, intent.Options{}); err == nil {
			b.Error("a nil store")
		}
	})
}

// While the database does not answer, a request is answered with 503, and repeated it gives
// one effect.
//
//evidence:intent
func TestHTTPWithoutDatabase(t *testing.T) {
	onEachStore(t, func(b *bed) {
		var away, back func()
		st := b.st
		if b.path != "" { // another process has the file
			holder, err := b.db.BeginTx(context.Background(), nil)
			if err != nil {
				b.Fatal(err)
			}
			away, back = func() {}, func() { _ = holder.Rollback() }
		} else {
			proxy, through := pgtest.NewProxy(b.T, b.dsn)
			far, err := postgres.Open(b.ctx(), through, postgres.Options{Schema: b.schema})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = far.Close() })
			st, away, back = far, proxy.Freeze, proxy.Thaw
		}
		a := b.serve(b.newClient(st, intent.Options{Logger: slog.New(slog.DiscardHandler)}))
		away()
		if got := a.want(503, a.do("POST", "/orders", "acme", "k", `{"id":1}`)); got.header.Get("Retry-After") == "" {
			b.Errorf("%+v", got)
		}
		back()
		b.process(b.st, 1, handles(applied))
		for ctx := b.ctx(); ctx.Err() == nil; {
			if got := a.do("POST", "/orders", "acme", "k", `{"id":1}`); got.code == 200 || got.code == 201 {
				break
			} else if a.want(503, got); b.Failed() {
				return
			}
		}
		if got := a.want(200, a.do("GET", "/orders?wait=30s", "acme", "k", "")); got.State != inbox.Done {
			b.Errorf("%+v", got)
		}
		if n := b.count("SELECT count(*) FROM effects"); n != 1 {
			b.Errorf("%d effects", n)
		}
	})
}
