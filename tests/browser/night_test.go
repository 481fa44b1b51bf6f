package browser

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/sinks"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/redact"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/login"
	"github.com/headrace/headrace/ui/who"
)

type paid struct {
	ID    string `json:"id"`
	Total int    `json:"total"`
}

// post is an alert as a receiver of webhooks gets it.
type post struct {
	Status string `json:"status"`
	Key    string `json:"key"`
	Data   struct {
		Kind  string `json:"kind"`
		Count int    `json:"count"`
	} `json:"data"`
	Links []alerts.Link `json:"links"`
}

// night is a consumer whose build fails, the pages, and the chat in which the alert comes.
type night struct {
	*testing.T
	st     *sqlite.Store
	source *memsource.Source
	posts  chan post // that the chat got
	pages  string    // their address
	hook   string    // where alerts are posted to
	chat   string    // the address of a page with the alert's link
	alert  string    // that link
	group  string    // its path
	stop   func()
	sent   int
}

// newNight serves the pages behind a way to sign in.
func newNight(t *testing.T, way login.Way) *night {
	t.Helper()
	need(t, "HEADRACE_TEST_CHROMIUM")
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "headrace.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	n := &night{T: t, st: st, posts: make(chan post, 64)}
	n.effect(`CREATE TABLE invoices (id text, total integer)`)
	server := httptest.NewServer(way.Handler(ui.New(st, ui.Options{Identify: way.Identify, Name: "shop", Redact: forEyes, Log: slog.New(slog.DiscardHandler)})))
	chat := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var got post
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
				t.Error(err)
			}
			n.posts <- got
			return
		}
		_, _ = fmt.Fprintf(w, `<!doctype html><a id="alert" href="%s">dead letters</a>`, html.EscapeString(n.alert))
	}))
	n.pages, n.hook, n.chat = server.URL, chat.URL, strings.Replace(chat.URL, "127.0.0.1", "localhost", 1) // another site
	t.Cleanup(func() {
		server.Close()
		chat.Close()
		if n.stop != nil {
			n.stop()
		}
		report, err := st.Check(context.Background())
		if err != nil || !report.OK() {
			t.Errorf("Check: %+v, %v", report, err)
		}
		_ = st.Close()
	})
	return n
}

// forEyes leaves out what the command leaves out.
func forEyes(c ui.Content) ui.Content {
	rules := redact.New()
	return ui.Content{Payload: rules.Payload(c.Payload), Headers: rules.Headers(c.Headers)}
}

func (n *night) effect(sql string) {
	n.Helper()
	err := store.Transact(n.Context(), n.st, func(t *txn.Txn) error {
		_, err := t.ExecContext(n.Context(), sql)
		return err
	})
	if err != nil {
		n.Fatal(err)
	}
}

// run runs a build of the consumer, in the place of the one before.
func (n *night) run(build string, check func(paid) error) {
	n.Helper()
	if n.stop != nil {
		n.stop()
	}
	n.source = memsource.New()
	sink, err := sinks.WebhookV2(n.hook, []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, sinks.Options{Plain: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		n.Fatal(err)
	}
	c, err := consumer.New("billing", n.st, consumer.Config{
		Build: build, Source: n.source, Rehearsable: true, Logger: slog.New(slog.DiscardHandler),
		Alerts: alerts.Options{Sinks: []alerts.Sink{sink}, URL: n.pages, Quiet: time.Second},
	})
	if err != nil {
		n.Fatal(err)
	}
	handle := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[paid]) error {
		if err := check(m.Body); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO invoices VALUES ($1, $2)", m.Body.ID, m.Body.Total)
		return err
	}
	consumer.Handle(c, "orders.paid", handle)
	consumer.Handle(c, "orders.refunded", handle)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	n.eventually("a process with build "+build+" is listed", func() bool {
		list, err := n.st.Operations().Instances.List(n.Context(), "billing")
		return err == nil && slices.ContainsFunc(list, func(i instance.Instance) bool { return i.Build == build && i.Ended.IsZero() })
	})
	n.stop = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			n.Error(err)
		}
	})
}

// eventually waits for what the tables say.
func (n *night) eventually(what string, is func() bool) {
	n.Helper()
	for end := time.Now().Add(waitTimeout); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			n.Fatalf("it is not so that %s", what)
		}
	}
}

// deliver delivers an order and waits until it is acknowledged.
func (n *night) deliver(id string, total int, headers map[string]string) {
	n.Helper()
	n.deliverTo("orders.paid", id, total, headers)
}

func (n *night) deliverTo(topic, id string, total int, headers map[string]string) {
	n.Helper()
	body, err := json.Marshal(map[string]any{"id": id, "total": total, "email": "email-canary"})
	if err != nil {
		n.Fatal(err)
	}
	m := n.source.Deliver(topic, id, body, headers)
	if acked, err := memsource.Outcome(n.Context(), m); err != nil || !acked {
		n.Fatalf("order %q: %v, %v", id, acked, err)
	}
	n.sent++
}

// poison runs a build that fails, until letters are dead and the alert has come, which it returns, and then the fix.
func (n *night) poison(dead, good int) post {
	n.Helper()
	n.run("v1.8.0", func(o paid) error {
		if o.Total < 0 {
			return retry.Permanent(errors.New("the total is negative"))
		}
		return nil
	})
	for i := range dead + good {
		total := 100
		if i < dead {
			total = -100
		}
		n.deliver(fmt.Sprint("order-", i), total, nil)
	}
	alert := n.fires()
	n.run("v1.8.1", func(paid) error { return nil })
	return alert
}

// gets waits for an alert of dead letters, and returns it.
func (n *night) gets(status string) post {
	n.Helper()
	for end := time.After(waitTimeout); ; {
		select {
		case got := <-n.posts:
			if got.Data.Kind == string(alerts.GroupFailing) && got.Status == status {
				return got
			}
		case <-end:
			n.Fatalf("the chat got no alert that is %s", status)
		}
	}
}

// fires waits for the alert, whose link leads to the group.
func (n *night) fires() post {
	n.Helper()
	got := n.gets("firing")
	if len(got.Links) == 0 || !strings.HasPrefix(got.Links[0].URL, n.pages+"/") {
		n.Fatalf("the alert has no link to the pages: %+v", got)
	}
	n.alert = got.Links[0].URL
	n.group = strings.TrimPrefix(n.alert, n.pages)
	return got
}

// once fails unless every order has one effect.
func (n *night) once() {
	n.Helper()
	var effects, orders int
	err := store.Transact(n.Context(), n.st, func(t *txn.Txn) error {
		return t.QueryRowContext(n.Context(), "SELECT count(*), count(DISTINCT id) FROM invoices").Scan(&effects, &orders)
	})
	if err != nil || effects != n.sent || orders != n.sent {
		n.Errorf("%d effects of %d orders, want %d: %v", effects, orders, n.sent, err)
	}
}

// resolved waits until the processes have found that the group is resolved.
func (n *night) resolved() {
	n.Helper()
	n.eventually("the group is resolved", func() bool {
		list, err := n.st.Operations().Groups.List(n.Context(), groups.Filter{Consumer: "billing", Closed: true})
		return err == nil && len(list) == 1 && list[0].State == groups.Resolved && list[0].Open == 0
	})
}

// redrives returns how many there are.
func (n *night) redrives() int {
	n.Helper()
	list, err := n.st.Operations().Redrives.List(n.Context(), "billing", 10)
	if err != nil {
		n.Fatal(err)
	}
	return len(list)
}

// tokens knows people by their token, which is tokenOf of the name.
func tokens(t *testing.T, people ...who.Person) login.Way {
	t.Helper()
	way, err := login.NewTokens(tokenFile(t, people...), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return way
}

// tokenFile is a file with one person a line.
func tokenFile(t *testing.T, people ...who.Person) string {
	t.Helper()
	var text strings.Builder
	for _, p := range people {
		sum := sha256.Sum256([]byte(tokenOf(p.Name)))
		fmt.Fprintln(&text, p.Name, p.Role, hex.EncodeToString(sum[:]))
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func tokenOf(name string) string {
	return hex.EncodeToString([]byte("token of " + name + " 0123456789"))
}
