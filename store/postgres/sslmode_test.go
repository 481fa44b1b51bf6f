package postgres_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store/postgres"
)

// An sslmode that lib/pq does not know, and one that asks for TLS of a server without it, are
// errors that name the option and say what to set.
func TestSSLMode(t *testing.T) {
	const unknown = "option sslmode of the DSN (or PGSSLMODE) has a value that lib/pq does not know: give disable for a local server without TLS"
	open := func(dsn string) string {
		s, err := postgres.Open(t.Context(), dsn, postgres.Options{ConnectTimeout: 20 * time.Second})
		if err == nil {
			_ = s.Close()
			return ""
		}
		return err.Error()
	}
	for _, dsn := range []string{
		"postgres://u:canary@h/db?sslmode=canary", "host=h password=canary sslmode=canary", "sslmode='canary' host=h", "host=h sslmode = DISABLE",
	} {
		if text := open(dsn); !strings.Contains(text, unknown) || strings.Contains(text, "canary") {
			t.Errorf("%s: %s", dsn, text)
		}
	}
	for _, dsn := range []string{"postgres://h:port/db?sslmode=disable", "host=h port=x sslmode=disable", "postgres://h:port/db"} {
		if text := open(dsn); !strings.Contains(text, "the DSN cannot be read") {
			t.Errorf("%s: %s", dsn, text)
		}
	}
	dsn, _ := pgtest.New(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"require", ""} {
		q := u.Query()
		q.Del("sslmode")
		if mode != "" {
			q.Set("sslmode", mode)
		}
		u.RawQuery = q.Encode()
		if text := open(u.String()); text != "" && !strings.Contains(text, "set option sslmode=disable in the DSN, or have the server offer TLS") {
			t.Errorf("sslmode=%s: %s", mode, text)
		}
	}
	t.Setenv("PGSSLMODE", "canary")
	if text := open("postgres://h/db"); !strings.Contains(text, unknown) {
		t.Errorf("PGSSLMODE: %s", text)
	}
}
