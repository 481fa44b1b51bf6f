package badinput

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/sinks"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// notHere are the numbers of the list that are no row of this package, with the reason.
var notHere = map[int]string{
	18: "nothing is exported as CSV; the command writes tables and JSON",
	38: "of the command: --since 30 is refused, cmd/headrace/filter_test.go; in Go see TestConfig",
	39: "each adapter checks what its broker allows (broker/*); of another Source only the caller knows the deadline (Config.HandlerTimeout says so)",
	41: "there is no configuration file: the compiler refuses an unknown field, and cmd/headrace/testdata/script/usage.txtar an unknown flag",
	42: "of the command: cmd/headrace/testdata/script/dsn.txtar, the flag goes first and says so",
	45: "of the ledger: ledger/spec_test.go and consumer/config_test.go refuse steps that cannot be",
	48: "of the admin pages: cmd/headrace/ui_test.go, the address without a port and without a sign-in",
	49: "of the command: cmd/headrace/testdata/script/dsn.txtar warns of a file that everybody can read; the secret of a webhook is in TestWebhooks",
	51: "of the broker adapters: their tests in broker/*",
}

// refusal is a case: a change of the smallest configuration that works, and the words of
// the error; "" where it is taken, and a message is applied under it.
type refusal struct {
	n      int
	name   string
	change func(*consumer.Config)
	want   string
}

func refusals() []refusal {
	type config = consumer.Config
	backoff := func(b retry.Backoff) func(*config) {
		return func(c *config) { c.Retry = retry.Policy{Backoff: b} }
	}
	return []refusal{
		{35, "concurrency 0 is the default", func(c *config) { c.Concurrency = 0 }, ""},
		{35, "concurrency -1", func(c *config) { c.Concurrency = -1 }, "option Config.Concurrency is negative"},
		{35, "concurrency 10^6", func(c *config) { c.Concurrency = 1e6 }, "option Config.Concurrency is 1000000: more than 1000"},
		{35, "batch -1", func(c *config) { c.MaxBatch = -1 }, "option Config.MaxBatch is negative"},
		{35, "batch 10^6", func(c *config) { c.MaxBatch = 1e6 }, "option Config.MaxBatch is 1000000"},
		{35, "in flight, the least number", func(c *config) { c.MaxInFlight = math.MinInt }, "option Config.MaxInFlight is negative"},
		{36, "attempts 0 is the default", func(c *config) { c.Retry.MaxAttempts = 0 }, ""},
		{36, "attempts -1", func(c *config) { c.Retry.MaxAttempts = -1 }, "option Config.Retry: retry: MaxAttempts is negative"},
		{36, "attempts 2^31", func(c *config) { c.Retry.MaxAttempts = 1 << 31 }, "option Config.Retry: retry: MaxAttempts (2147483648) is above"},
		{36, "as many at once as there are", func(c *config) { c.Retry.MaxAttempts, c.Retry.Immediate = 3, 3 }, "Immediate (3) is not below MaxAttempts"},
		{37, "backoff 0 is the default", backoff(retry.Backoff{}), ""},
		{37, "backoff negative", backoff(retry.Backoff{Initial: -1}), "Backoff.Initial is negative"},
		{37, "maximum below the first", backoff(retry.Backoff{Initial: time.Hour, Max: time.Second}), "Backoff.Max (1s) is below Backoff.Initial (1h0m0s)"},
		{37, "jitter above 1", backoff(retry.Backoff{Jitter: 1.1}), "Jitter"},
		{37, "jitter that is no number", backoff(retry.Backoff{Jitter: math.NaN()}), "Jitter"},
		{37, "factor below 1", backoff(retry.Backoff{Factor: .5}), "Factor"},
		{37, "factor that is infinite", backoff(retry.Backoff{Factor: math.Inf(1)}), "Factor"},
		{38, "handler timeout without a unit", func(c *config) { c.HandlerTimeout = 30 }, "option Config.HandlerTimeout is 30ns: give it a unit"},
		{38, "drain timeout without a unit", func(c *config) { c.DrainTimeout = 30 }, "option Config.DrainTimeout is 30ns"},
		{38, "nack pause without a unit", func(c *config) { c.NackPause = 1 }, "option Config.NackPause is 1ns"},
		{38, "backoff without a unit", backoff(retry.Backoff{Initial: 5, Max: time.Hour}), "Backoff.Initial is 5ns"},
		{38, "retention without a unit", func(c *config) { c.Retention.DeadLetters = 7 }, "option Config.Retention: DeadLetters is 7ns"},
		{38, "handler timeout negative", func(c *config) { c.HandlerTimeout = -time.Second }, "option Config.HandlerTimeout is negative"},
		{40, "a window below the source's retention", func(c *config) {
			c.Retention = inbox.Retention{SourceRetention: 14 * 24 * time.Hour, Window: 24 * time.Hour}
		}, "option Config.Retention: retention is too short: Window is 1 day and must exceed"},
		{40, "a window for a source of unknown retention", func(c *config) {
			c.Retention = inbox.Retention{Window: 24 * time.Hour}
		}, "option Config.Retention: the source's retention is not known"},
		{40, "open letters that go before the message can come back", func(c *config) {
			c.Retention = inbox.Retention{SourceRetention: 24 * time.Hour, OpenLetters: time.Hour}
		}, "OpenLetters is 1 h and must exceed"},
		{44, "another name in the configuration", func(c *config) { c.Name = "other" }, "option Config.Name is \"other\""},
		{50, "bytes in flight 0 is the default", func(c *config) { c.MaxInFlightBytes = 0 }, ""},
		{50, "bytes in flight 1: every message alone", func(c *config) { c.MaxInFlightBytes = 1 }, ""},
		{50, "bytes in flight negative", func(c *config) { c.MaxInFlightBytes = -1 }, "option Config.MaxInFlightBytes is negative"},
	}
}

// Bad input 35 to 38, 40, 44 and 50: refused by New or by Run, before a message is taken,
// with the name of the option; or taken, and then a message is applied.
//
//evidence:refused-at-start
func TestConfig(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		applied := 0
		for i, r := range refusals() {
			b.src = memsource.New()
			config := b.config()
			r.change(&config)
			c, err := consumer.New("test", b.st, config)
			if err == nil {
				handlers(c)
				if r.want != "" {
					err = c.Run(b.Context())
				}
			}
			if r.want != "" {
				if err == nil || !strings.Contains(err.Error(), r.want) {
					b.Errorf("%d %s: %v, want %q", r.n, r.name, err, r.want)
				}
				continue
			}
			if err != nil {
				b.Errorf("%d %s: %v", r.n, r.name, err)
				continue
			}
			stop := b.run(c)
			b.send(b.T, raw, message.NewMessage(fmt.Sprint("m", i), []byte("x")))
			stop()
			applied++
			if got := b.state(); got != (state{effects: applied}) {
				b.Errorf("%d %s: %+v", r.n, r.name, got)
			}
		}
	})
}

// Bad input 37: the delay never overflows, however often it doubles.
func TestDelaysDoNotOverflow(t *testing.T) {
	b := retry.Policy{Backoff: retry.Backoff{Initial: time.Second, Max: time.Hour, Factor: 2}}.WithDefaults().Backoff
	for _, attempt := range []int{1, 62, 63, 64, 65, 1000, 1_000_000, math.MaxInt} {
		if d := b.Delay(attempt, "key"); d <= 0 || d > time.Hour {
			t.Errorf("attempt %d: %s", attempt, d)
		}
	}
}

// Bad input 33, 34 and 43 of PostgreSQL: what is refused is named, and no password shown.
//
//evidence:bad-input
func TestPostgresOptions(t *testing.T) {
	dsn := "postgres://user:canary@127.0.0.1:1/db?sslmode=disable"
	for _, c := range []struct {
		n    int
		name string
		dsn  string
		o    postgres.Options
		want string
	}{
		{33, "no DSN", "", postgres.Options{}, "the DSN is empty"},
		{33, "a percent sign that is none", "postgres://user:can%zzary@h/db", postgres.Options{}, "the DSN cannot be read"},
		{33, "a port that is none", "postgres://user:canary@h:port/db", postgres.Options{}, "the DSN cannot be read"},
		{33, "no server listens", dsn, postgres.Options{}, "connect"},
		{33, "a socket that is not there", "host=/nonexistent/canary-free user=u password=canary dbname=d", postgres.Options{}, "connect"},
		{34, "a pool of -1", dsn, postgres.Options{MaxConns: -1}, "Options.MaxConns is negative"},
		{34, "a pool of 10^6", dsn, postgres.Options{MaxConns: 1e6}, "Options.MaxConns is 1000000: more than 10000"},
		{38, "a connect timeout without a unit", dsn, postgres.Options{ConnectTimeout: 10}, "Options.ConnectTimeout is 10ns: give it a unit"},
		{38, "a TCP timeout without a unit", dsn, postgres.Options{TCPUserTimeout: 10}, "Options.TCPUserTimeout is 10ns"},
		{43, "a schema of 64 bytes", dsn, postgres.Options{Schema: strings.Repeat("s", 64)}, "Options.Schema has 64 bytes"},
		{43, "a schema with NUL", dsn, postgres.Options{Schema: "a\x00"}, "Options.Schema holds a NUL"},
		{43, "a blank schema", dsn, postgres.Options{Schema: " "}, "Options.Schema is blank"},
	} {
		st, err := postgres.Open(t.Context(), c.dsn, c.o)
		if err == nil {
			_ = st.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "can%zzary") || strings.Contains(err.Error(), ":canary") || strings.Contains(err.Error(), "=canary") {
			t.Errorf("%d %s: %v, want %q", c.n, c.name, err, c.want)
		}
	}
}

// Bad input 33 of SQLite: no path, and databases that are not one file.
//
//evidence:bad-input
func TestSQLitePaths(t *testing.T) {
	for path, want := range map[string]string{
		"": "the path is empty", ":memory:": "in-memory", "file:x?mode=memory": "is a URI", "a\x00b": "NUL", filepath.Join(t.TempDir(), "none", "x.db"): "none",
	} {
		st, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			_ = st.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("33 %q: %v, want %q", path, err, want)
		}
	}
}

// Bad input 34 and 43: a pool of one connection works, the relay included, and so does
// any schema that PostgreSQL takes, under its very name.
func TestSchemasAndSmallPools(t *testing.T) {
	dsn := pgtest.NewDatabase(t)
	db := pgtest.OpenDB(t, "postgres", dsn)
	for _, schema := range []string{`a"b'; DROP SCHEMA public; --`, "MiXed", "a.b"} { // more in TestSchemaNames of store/postgres
		t.Run(schema, func(t *testing.T) {
			if _, err := db.Exec(`CREATE SCHEMA "` + strings.ReplaceAll(schema, `"`, `""`) + `"`); err != nil {
				t.Fatal(err)
			}
			st, err := postgres.Open(t.Context(), dsn, postgres.Options{Schema: schema, Migrate: true, MaxConns: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			smallPool(t, st, db, schema)
		})
	}
}

func smallPool(t *testing.T, st *postgres.Store, db *sql.DB, schema string) {
	b := &bundle{T: t, st: st, db: db, src: memsource.New(), admin: redrive.New(st)}
	b.exec("DROP TABLE IF EXISTS effects")
	b.exec("CREATE TABLE effects (msg TEXT NOT NULL, sum TEXT NOT NULL, attempt INTEGER NOT NULL, trace TEXT NOT NULL)")
	sink := &published{more: make(chan struct{}, 10)}
	config := b.config()
	config.Sink = sink
	c, err := consumer.New("test", st, config)
	if err != nil {
		t.Fatal(err)
	}
	handlers(c)
	stop := b.run(c)
	b.send(t, raw, message.NewMessage("m", []byte("x")))
	b.send(t, refuse, message.NewMessage("m", []byte("x")))
	select { // the copy of the letter
	case <-sink.more:
	case <-time.After(time.Minute):
		t.Error("34: the relay and the handlers starve each other on one connection")
	}
	stop()
	if got := b.state(); got != (state{effects: 1, letters: 1}) {
		t.Errorf("%+v", got)
	}
	var tables int
	if err := db.QueryRow("SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND tablename LIKE 'headrace%'", schema).Scan(&tables); err != nil || tables == 0 {
		t.Errorf("43: %d tables in the schema, %v", tables, err)
	}
}

// Bad input 35, 38 and 44 of registrations: Run refuses, and names the handler.
//
//evidence:refused-at-start
func TestRegistrations(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		for _, r := range []struct {
			n       int
			options []consumer.Option
			want    string
		}{
			{35, []consumer.Option{consumer.Concurrency(0)}, "Concurrency(0) is not between 1 and 1000"},
			{35, []consumer.Option{consumer.Concurrency(-1)}, "Concurrency(-1)"},
			{35, []consumer.Option{consumer.Concurrency(1e6)}, "Concurrency(1000000)"},
			{36, []consumer.Option{consumer.Retry(retry.Policy{MaxAttempts: -1})}, "MaxAttempts is negative"},
			{38, []consumer.Option{consumer.Timeout(30)}, "Timeout(30ns): give it a unit"},
			{44, []consumer.Option{consumer.Name(raw)}, "there is another handler of that name"},
		} {
			c, err := consumer.New("test", b.st, b.config())
			if err != nil {
				b.Fatal(err)
			}
			handlers(c)
			consumer.Handle(c, "other", apply[[]byte], append(r.options, consumer.Codec(codec.Raw()))...)
			if err := c.Run(b.Context()); err == nil || !strings.Contains(err.Error(), r.want) {
				b.Errorf("%d: %v, want %q", r.n, err, r.want)
			}
		}
	})
}

// Bad input 44: two processes of one name with different handlers: each handler has keys
// of its own, and the same handler in both has its messages applied once.
func TestOneNameTwoConsumers(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		for i, handler := range []string{"one", "two", "two"} {
			b.src = memsource.New()
			c, err := consumer.New("test", b.st, b.config())
			if err != nil {
				b.Fatal(err)
			}
			consumer.Handle(c, raw, apply[[]byte], consumer.Name(handler), consumer.Codec(codec.Raw()))
			stop := b.run(c)
			b.send(b.T, raw, message.NewMessage("m", []byte("x")))
			stop()
			if got := b.state(); got != (state{effects: min(i+1, 2)}) {
				b.Errorf("after %s: %+v", handler, got)
			}
		}
	})
}

// Bad input 46 and 49: a webhook is https to a public host by its plain name, with a
// secret that a file may end with a line end.
//
//evidence:bad-input
func TestWebhooks(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	for url, want := range map[string]string{
		"https://example.com/hook": "", "file:///etc/passwd": "not https", "gopher://example.com": "not https", "http://example.com": "is http",
		"https://user:canary@example.com": "holds a user", "https://[::ffff:127.0.0.1]/": "private or special", "https://127.0.0.1/": "private or special",
		"https://2130706433/": "form of its own", "https://0x7f.1/": "form of its own", "https://localhost/": "this machine", "https://localhost./": "ends with a dot",
		"https://169.254.169.254/latest": "private or special", "https://exämple.com/": "xn--", "https://[fd00::1]/": "private or special", "https://": "no host", "": "not https",
	} {
		_, err := sinks.Webhook(url, secret, sinks.Options{})
		if (want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("46 %s: %v, want %q", url, err, want)
		}
	}
	for s, want := range map[string]string{secret + "\n": "", "": "24 to 64 bytes", "whsec_canary!": "not base64", "whsec_Y2FuYXJ5": "24 to 64 bytes"} {
		_, err := sinks.Webhook("https://example.com", s, sinks.Options{})
		if (want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("49 %q: %v, want %q", s, err, want)
		}
	}
	if _, err := sinks.Webhook("https://example.com", secret, sinks.Options{Allow: []netip.Prefix{{}}}); err == nil {
		t.Error("46: a network that is none was taken")
	}
}

// Bad input 47: names that are templates elsewhere stay what they are in an alert.
func TestAlertText(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		const name = "{{7*7}}${7*7}<script>%s%n"
		told := make(chan alerts.Alert, 10)
		config := b.config()
		config.Alert = func(_ context.Context, a alerts.Alert) error { told <- a; return nil }
		c, err := consumer.New(name, b.st, config)
		if err != nil {
			b.Fatal(err)
		}
		consumer.Handle(c, refuse, func(context.Context, *headrace.Tx, *headrace.Message[[]byte]) error {
			return retry.Permanent(errors.New("canary " + name))
		},
			consumer.Name(name), consumer.Codec(codec.Raw()))
		stop := b.run(c)
		defer stop()
		b.send(b.T, refuse, message.NewMessage("m", []byte(name)))
		select {
		case a := <-told:
			// The error is said in its normalised form, and nothing is executed.
			if a.Handler != name || a.Consumer != name || !strings.HasPrefix(a.Text, name+"/"+name+" fails: canary {{#*#}}${#*#}<script>%s%n") {
				b.Errorf("%+v", a)
			}
		case <-time.After(time.Minute):
			b.Error("no alert came")
		}
	})
}

// Every number up to 51 is a row here or has its reason.
func TestEveryNumberIsThere(t *testing.T) {
	there := []int{23, 25, 32, 33, 34, 43, 46, 47, 49} // by the tests of that number above
	for _, in := range append(messages(), ids()...) {
		there = append(there, in.n)
	}
	for _, r := range refusals() {
		there = append(there, r.n)
	}
	for n := 1; n <= 51; n++ {
		if !slices.Contains(there, n) && notHere[n] == "" {
			t.Errorf("bad input %d has no case and no reason", n)
		}
	}
}
