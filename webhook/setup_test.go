package webhook_test

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/webhook"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
	}
	goleak.VerifyTestMain(m)
}

const bound = 30 * time.Second

var client = &http.Client{Timeout: bound}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// byHeader lets everybody pass; the id is in a header.
var byHeader = webhook.Verifier{Verify: func(r webhook.Request) (string, error) { return r.Header.Get("X-Id"), nil }}

// fixture is a consumer of webhooks, and the server that they are posted to.
type fixture struct {
	*testing.T
	st    store.Store
	db    *sql.DB
	fault atomic.Pointer[fault.Hook]
	hooks *webhook.Source
	c     *consumer.Consumer
	url   string
}

// onEachStore runs f on PostgreSQL and on SQLite, and checks the store's invariants at the end.
func onEachStore(t *testing.T, f func(f *fixture)) {
	t.Run("postgres", func(t *testing.T) {
		dsn, schema := pgtest.New(t)
		st := pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true})
		f(&fixture{T: t, st: st, db: pgtest.OpenDB(t, pgstore.Driver(t), dsn)})
	})
	t.Run("sqlite", func(t *testing.T) {
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		f(&fixture{T: t, st: st, db: st.DB()})
	})
}

// serve makes a consumer, whose handler inserts the number in the body, and a server.
func (f *fixture) serve(o webhook.Options, v webhook.Verifier, more ...consumer.Option) *fixture {
	f.Helper()
	if _, err := f.db.ExecContext(f.Context(), "CREATE TABLE effects (n INTEGER)"); err != nil {
		f.Fatal(err)
	}
	o.Logger = quiet
	var err error
	if f.hooks, err = webhook.NewSource(o); err != nil {
		f.Fatal(err)
	}
	st := fault.Store(f.st, func(p fault.Point) error {
		if hook := f.fault.Load(); hook != nil {
			return (*hook)(p)
		}
		return nil
	})
	if f.c, err = consumer.New("shop", st, consumer.Config{Retry: retry.Policy{MaxAttempts: 1}, Logger: quiet}); err != nil {
		f.Fatal(err)
	}
	consumer.Handle(f.c, "orders", insert, append(more, consumer.From(f.hooks))...)
	server := httptest.NewServer(f.hooks.Endpoint("orders", v))
	f.url = server.URL
	f.Cleanup(func() {
		server.Close()
		_ = f.hooks.Close()
		report, err := f.st.(store.Checker).Check(context.Background())
		if err != nil {
			f.Errorf("check: %v", err)
		}
		for _, rule := range report.Rules {
			if rule.Violations > 0 {
				f.Errorf("invariant broken: %s: %d times, for example %s", rule.Says, rule.Violations, rule.Example)
			}
		}
	})
	return f
}

type order struct {
	N int `json:"n"`
}

func insert(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES ($1)", m.Body.N)
	return err
}

// run runs the consumer until the function that it returns is called.
func (f *fixture) run() (stop func()) {
	f.Helper()
	ctx, cancel := context.WithCancel(f.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.c.Run(ctx) }()
	f.eventually("ready", func() bool { return f.c.Ready() == nil })
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			f.Errorf("Run: %v", err)
		}
	}
	f.Cleanup(stop)
	return stop
}

// post sends a webhook, and returns the status code.
func (f *fixture) post(id, body string, pairs ...string) int {
	f.Helper()
	return f.send(http.MethodPost, strings.NewReader(body), append(pairs, "X-Id", id)...)
}

func (f *fixture) send(method string, body io.Reader, pairs ...string) int {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), method, f.url, body)
	if err != nil {
		f.Fatal(err)
	}
	r.Header = headers(pairs...)
	answer, err := client.Do(r)
	if err != nil {
		f.Errorf("post: %v", err)
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// effects returns how often n was applied.
func (f *fixture) effects(n int) (count int) {
	f.Helper()
	if err := f.db.QueryRowContext(f.Context(), "SELECT count(*) FROM effects WHERE n = $1", n).Scan(&count); err != nil {
		f.Fatal(err)
	}
	return count
}

func (f *fixture) eventually(what string, holds func() bool) {
	f.Helper()
	end := time.Now().Add(bound)
	for tick := time.Tick(10 * time.Millisecond); !holds(); <-tick {
		if time.Now().After(end) {
			f.Fatalf("not within %s: %s", bound, what)
		}
	}
}

// want compares a status code.
func (f *fixture) want(what string, got, want int) {
	f.Helper()
	if got != want {
		f.Errorf("%s: %d, want %d", what, got, want)
	}
}

var bodyKey = consumer.Key(inbox.JSON("n"))
