package webhook_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/webhook"
)

// The answer is 2xx after the commit, and never before: not before Run, while the consumer is
// paused, or after its end. What was answered is applied once, however often it is told.
//
//evidence:webhook-answer
func TestAnswers(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.serve(webhook.Options{AckTimeout: time.Minute}, byHeader) // who waits for a pause to end gets no answer
		f.want("before Run", f.post("a", `{"n":1}`), http.StatusServiceUnavailable)
		stop := f.run()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { f.want("one of twenty", f.post("a", `{"n":1}`), http.StatusOK) })
		}
		all.Wait()
		f.want("once more", f.post("a", `{"n":1}`), http.StatusOK)
		f.want("the same id, another body", f.post("a", `{"n":2}`), http.StatusOK)
		f.want("no JSON", f.post("b", `<`), http.StatusOK)
		f.want("no id", f.post("", `{"n":3}`), http.StatusOK)
		if err := f.c.Pause(f.Context(), "test", "pause"); err != nil {
			f.Fatal(err)
		}
		f.eventually("paused", func() bool { return f.post("c", `{"n":4}`) == http.StatusServiceUnavailable })
		if err := f.c.Resume(f.Context(), "test"); err != nil {
			f.Fatal(err)
		}
		f.eventually("resumed", func() bool { return f.post("c", `{"n":4}`) == http.StatusOK })
		stop()
		f.want("after the stop", f.post("d", `{"n":5}`), http.StatusServiceUnavailable)
		for n, want := range map[int]int{1: 1, 2: 0, 3: 0, 4: 1, 5: 0} {
			if got := f.effects(n); got != want {
				f.Errorf("%d was applied %d times, want %d", n, got, want)
			}
		}
		classes := map[dlq.Class]int{}
		letters, err := f.st.Letters().List(f.Context(), dlq.Filter{}, 0, 10)
		if err != nil {
			f.Fatal(err)
		}
		for _, l := range letters {
			classes[l.Class]++
		}
		if len(letters) != 3 || classes[dlq.Conflict] != 1 || classes[dlq.Undecodable] != 2 {
			f.Errorf("dead letters %v", classes)
		}
	})
}

// What cannot be a message is refused before anything is stored.
func TestRefused(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		now := standardAt
		f.serve(webhook.Options{Now: func() time.Time { return now }}, webhook.Standard(standardSecret))
		f.run()
		good := []string{"webhook-id", standardID, "webhook-timestamp", "1614265330", "webhook-signature", standardSum}
		send := func(body string, more ...string) int {
			return f.send(http.MethodPost, strings.NewReader(body), append(append([]string{}, good...), more...)...)
		}
		f.want("signed", send(standardBody), http.StatusOK)
		f.want("another body", send(standardBody+" "), http.StatusUnauthorized)
		f.want("another id", send(standardBody, "webhook-id", "msg_2"), http.StatusUnauthorized)
		f.want("GET", f.send(http.MethodGet, nil, good...), http.StatusMethodNotAllowed)
		f.want("2 MiB", send(strings.Repeat(" ", 2<<20)), http.StatusRequestEntityTooLarge)
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		_, _ = z.Write([]byte(standardBody))
		_ = z.Close()
		f.want("compressed", send(zipped.String(), "Content-Encoding", "gzip"), http.StatusUnsupportedMediaType)
		now = now.Add(6 * time.Minute)
		f.want("old", send(standardBody), http.StatusUnauthorized)
		var n int
		if err := f.db.QueryRowContext(f.Context(), "SELECT count(*) FROM headrace_inbox").Scan(&n); err != nil || n != 1 {
			f.Errorf("%d rows in the inbox, want 1; %v", n, err)
		}
	})
}

// A sender that signs the body alone cannot keep an old request from being sent again under
// another id. With a key made of the body that has no effect; without one the consumer does
// not start.
//
//evidence:webhook-body-only
func TestBodyOnly(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		body := githubBodyOf(7)
		f.serve(webhook.Options{}, webhook.GitHub(githubSecret), bodyKey)
		f.run()
		for _, id := range []string{"d1", "d1", "d2"} {
			f.want(id, f.post("", body, "X-Hub-Signature-256", githubSign(body), "X-GitHub-Delivery", id), http.StatusOK)
		}
		if got := f.effects(7); got != 1 {
			f.Errorf("applied %d times", got)
		}
	})
}

//evidence:webhook-body-only
func TestMistakes(t *testing.T) {
	f := func(v webhook.Verifier, topic, text string, options ...consumer.Option) {
		t.Helper()
		onFile(t, func(f *fixture) {
			hooks, err := webhook.NewSource(webhook.Options{Logger: quiet})
			if err != nil {
				f.Fatal(err)
			}
			endpoint := hooks.Endpoint("orders", v)
			c, err := consumer.New("shop", f.st, consumer.Config{Logger: quiet})
			if err != nil {
				f.Fatal(err)
			}
			consumer.Handle(c, topic, insert, append(options, consumer.From(hooks))...)
			ctx, cancel := context.WithTimeout(f.Context(), bound)
			defer cancel()
			if err := c.Run(ctx); err == nil || !strings.Contains(err.Error(), text) {
				f.Errorf("Run: %v, want %q", err, text)
			}
			w := httptest.NewRecorder()
			endpoint.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader("{}")))
			if w.Code < 400 {
				f.Errorf("the endpoint answers %d", w.Code)
			}
			_ = hooks.Close()
		})
	}
	f(webhook.GitHub(githubSecret), "orders", "signs the body alone")
	f(webhook.Shopify(shopifySecret), "orders", "consumer.Key(inbox.JSON(\"id\"))")
	f(byHeader, "others", `topic "others" has no endpoint`, bodyKey)
	f(webhook.Stripe(), "orders", "webhook.Stripe has no secret")
	f(webhook.Stripe("a", ""), "orders", "secret 2 of webhook.Stripe is empty")
	f(webhook.Standard("whsec_!"), "orders", "secret 1 of webhook.Standard is no base64")
	f(webhook.Verifier{}, "orders", "Verifier.Verify is missing")
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o    webhook.Options
		text string
	}{
		{webhook.Options{MaxBody: -1}, "MaxBody"}, {webhook.Options{MaxInFlight: -1}, "MaxInFlight"},
		{webhook.Options{AckTimeout: time.Millisecond}, "AckTimeout"}, {webhook.Options{Retention: -1}, "Retention"},
		{webhook.Options{Headers: []string{""}}, "Headers"},
	} {
		if _, err := webhook.NewSource(c.o); err == nil || !strings.Contains(err.Error(), "Options."+c.text) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// While the database is away requests are answered 503, and the repetition is applied once.
func TestDatabaseIsAway(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.serve(webhook.Options{AckTimeout: time.Second}, byHeader)
		f.run()
		away := fault.Hook(func(p fault.Point) error { return errAway })
		f.fault.Store(&away)
		f.want("away", f.post("a", `{"n":1}`), http.StatusServiceUnavailable)
		f.fault.Store(nil)
		f.eventually("the repetition", func() bool { return f.post("a", `{"n":1}`) == http.StatusOK })
		if got := f.effects(1); got != 1 {
			f.Errorf("applied %d times", got)
		}
	})
}

// A COMMIT whose answer is lost is applied once, and answered 200.
func TestCommitWithoutAnswer(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.serve(webhook.Options{}, byHeader)
		f.run()
		var once sync.Once
		lost := fault.Hook(func(p fault.Point) (err error) {
			if p == fault.AfterCommit {
				once.Do(func() { err = errAway })
			}
			return err
		})
		f.fault.Store(&lost)
		f.eventually("an answer", func() bool { return f.post("a", `{"n":1}`) == http.StatusOK })
		if got := f.effects(1); got != 1 {
			f.Errorf("applied %d times", got)
		}
	})
}

// A request waits for the commit no longer than AckTimeout; what is committed after that is
// known when it comes again. No more than MaxInFlight wait.
func TestSlowHandler(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.serve(webhook.Options{AckTimeout: 300 * time.Millisecond, MaxInFlight: 1}, byHeader)
		release, began := make(chan struct{}), make(chan struct{}, 2)
		c, err := consumer.New("slow", f.st, consumer.Config{Logger: quiet})
		if err != nil {
			f.Fatal(err)
		}
		consumer.Handle(c, "orders", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
			began <- struct{}{}
			<-release
			return insert(ctx, tx, m)
		}, consumer.From(f.hooks), consumer.Alone())
		f.c = c
		f.run()
		first := make(chan int, 1)
		go func() { first <- f.post("a", `{"n":1}`) }()
		<-began
		f.want("one waits already", f.post("b", `{"n":2}`), http.StatusServiceUnavailable)
		f.want("too slow", <-first, http.StatusServiceUnavailable)
		close(release)
		f.eventually("applied", func() bool { return f.effects(1) == 1 })
		f.want("again", f.post("a", `{"n":1}`), http.StatusOK)
		if a, b := f.effects(1), f.effects(2); a != 1 || b != 0 {
			f.Errorf("applied %d and %d times, want once and never", a, b)
		}
	})
}

// A client that does not send its body is cut off.
func TestSlowClient(t *testing.T) {
	onFile(t, func(f *fixture) {
		f.serve(webhook.Options{}, byHeader)
		f.run()
		u, err := url.Parse(f.url)
		if err != nil {
			f.Fatal(err)
		}
		conn, err := (&net.Dialer{}).DialContext(f.Context(), "tcp", u.Host)
		if err != nil {
			f.Fatal(err)
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
		_ = conn.SetReadDeadline(time.Now().Add(bound))
		answer := make([]byte, 512)
		n, err := conn.Read(answer)
		if err != nil || !strings.Contains(string(answer[:n]), " 408 ") {
			f.Errorf("the answer is %q, %v", answer[:n], err)
		}
	})
}

// Only headers that were named become metadata: others may be secrets.
func TestHeaders(t *testing.T) {
	onFile(t, func(f *fixture) {
		got := make(chan map[string]string, 1)
		f.serve(webhook.Options{Headers: []string{"x-shop"}}, byHeader)
		c, err := consumer.New("headers", f.st, consumer.Config{Logger: quiet, Key: inbox.MessageID()})
		if err != nil {
			f.Fatal(err)
		}
		consumer.Handle(c, "orders", func(_ context.Context, _ *headrace.Tx, m *headrace.Message[order]) error {
			got <- m.Metadata
			return nil
		}, consumer.From(f.hooks), consumer.Alone())
		f.c = c
		f.run()
		f.want("post", f.post("a", `{"n":1}`, "Authorization", "secret", "Cookie", "secret", "X-Token", "secret", "X-Shop", "north", "Content-Type", "application/json"), http.StatusOK)
		m := <-got
		if m["X-Shop"] != "north" || m["Content-Type"] != "application/json" || len(m) != 2 {
			f.Errorf("metadata %v", m)
		}
	})
}

func TestSubscriptions(t *testing.T) {
	hooks, err := webhook.NewSource(webhook.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := hooks.Subscribe(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hooks.Subscribe(t.Context(), "orders"); !errors.Is(err, webhook.ErrSubscribed) {
		t.Errorf("a second Subscribe: %v", err)
	}
	for range 2 {
		if err := hooks.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, open := <-messages; open {
		t.Error("the subscription is open after Close")
	}
	if _, err := hooks.Subscribe(t.Context(), "orders"); !errors.Is(err, webhook.ErrClosed) {
		t.Errorf("Subscribe after Close: %v", err)
	}
}
