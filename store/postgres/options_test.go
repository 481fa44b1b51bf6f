package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/postgres"
)

func TestOptionsRefused(t *testing.T) {
	for want, o := range map[string]postgres.Options{
		"Schema is blank": {Schema: " \t"},
		"NUL":             {Schema: "a\x00b"},
		"64 bytes":        {Schema: strings.Repeat("ü", 32)},
		"$headrace$":      {Schema: "a$headrace$b"},
		"contradict":      {Migrate: true, Unchecked: true},
		"MaxConns":        {MaxConns: -1},
		"ConnectTimeout":  {ConnectTimeout: -1},
		"TCPUserTimeout":  {TCPUserTimeout: -1},
	} {
		_, err := postgres.Open(t.Context(), "postgres://127.0.0.1:1/x", o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
		if _, err := postgres.New(t.Context(), nil, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New, %+v: %v", o, err)
		}
	}
}

// INVARIANTS 20: no error shows the password, in whatever way the DSN is wrong.
//
//evidence:secret
func TestErrorsKeepThePassword(t *testing.T) {
	const secret = "canary"
	for _, dsn := range []string{
		"", "postgres://u:canary#x@127.0.0.1:1/db", "postgres://u:%zzcanary@127.0.0.1:1/db", "postgres://u:p@127.0.0.1:canary/db",
		"host=127.0.0.1 port=1 password canary", "host=127.0.0.1 port=1 password='canary", "host=127.0.0.1 port=canary", "canary",
		"postgres://u:canary@127.0.0.1:1/db?sslmode=disable", "postgres://u:canary@127.0.0.1:1/db?sslmode=canary",
		"host=127.0.0.1 port=1 user=u password=canary sslmode=disable", "postgres://u:canary@host.invalid/db?sslmode=disable",
		"postgres://u:canary@127.0.0.1:1,127.0.0.1:2/db?sslmode=disable", "postgres://u:canary@[::1/db",
	} {
		s, err := postgres.Open(t.Context(), dsn, postgres.Options{ConnectTimeout: 5 * time.Second})
		if err == nil {
			shut(t, s)
			t.Errorf("%q: no error", dsn)
			continue
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", errors.Unwrap(err))} {
			if strings.Contains(text, secret) {
				t.Errorf("%q: %s", dsn, text)
			}
		}
	}
}

// A cache of prepared statements may be off (pgbouncer in transaction mode), small,
// or used by pgx too.
//
//evidence:pgbouncer
func TestStatementCache(t *testing.T) {
	for _, driver := range []string{"open", "postgres", "pgx", "pool"} {
		for _, size := range []int{-1, 0, 1, 50} {
			t.Run(fmt.Sprintf("%s/%d", driver, size), func(t *testing.T) {
				t.Parallel()
				b := setup(t, driver, "", postgres.Options{StatementCache: size})
				for n := range 5 {
					x := b.begin()
					b.claim(x, inbox.ClaimRequest{}, fmt.Sprint(n), fmt.Sprint(n, " again"))
					event := outbox.RowOf(headrace.Event{ID: "1", Topic: "t", Payload: []byte{0, 0xff}})
					if err := b.Commit(t.Context(), x, []outbox.Row{event}); err != nil {
						t.Fatal(err)
					}
				}
				x := b.begin()
				prepared := one[int](b, x, "SELECT count(*) FROM pg_prepared_statements")
				// pgx prepares by itself too.
				if ours := size >= 0; (prepared > 0) != ours && (ours || driver != "pgx" && driver != "pool") {
					t.Errorf("%d prepared statements", prepared)
				}
			})
		}
	}
}

// pgbouncer in transaction mode takes no named statements: each driver has a way to
// do without.
//
//evidence:pgbouncer
func TestWithoutNamedStatements(t *testing.T) {
	for driver, params := range map[string]string{
		"open": "&binary_parameters=yes", "postgres": "&binary_parameters=yes", "pgx": "&default_query_exec_mode=exec",
		"pool": "&default_query_exec_mode=exec",
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			everyStatement(setup(t, driver, params, postgres.Options{StatementCache: -1}))
		})
	}
}

// Every statement has a user: a file that no code loads is a mistake.
//
//evidence:same-names
func TestEveryFileIsUsed(t *testing.T) {
	b := setup(t, "open", "", postgres.Options{})
	if unused := b.Unused(); len(unused) > 0 {
		t.Errorf("no code uses %q", unused)
	}
}

// Names that no column takes are refused before the server aborts the transaction.
func TestNamesAreNotCleaned(t *testing.T) {
	b := setup(t, "open", "", postgres.Options{})
	x := b.begin()
	for _, bad := range []string{"a\x00b", "a\xffb", strings.Repeat("x", 1025)} {
		if _, err := b.Inbox().Claim(t.Context(), x, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: inbox.ID{Scope: scope, Key: bad}}}}); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("claim of %.8q: %v", bad, err)
		}
		row := outbox.RowOf(headrace.Event{ID: "1", Topic: "t", OrderKey: bad, Payload: []byte{1}})
		if err := b.Outbox().Insert(t.Context(), x, []outbox.Row{row}); !errors.Is(err, headrace.ErrInvalidEvent) {
			t.Errorf("event with order key %.8q: %v", bad, err)
		}
	}
	b.claim(x, inbox.ClaimRequest{}, "fine") // the transaction lives
}

// New leaves the caller's handle open.
func TestNewLeavesTheHandle(t *testing.T) {
	dsn, schema := pgstore.New(t)
	db := pgtest.OpenDB(t, "pgx", dsn)
	s, err := postgres.New(t.Context(), db, postgres.Options{Schema: schema, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice does no harm
		shut(t, s)
	}
	if err := db.PingContext(t.Context()); err != nil {
		t.Error(err)
	}
}

// What New and OpenPool would ignore, they refuse.
func TestOptionsForOpenRefused(t *testing.T) {
	for name, o := range map[string]postgres.Options{
		"MaxConns": {MaxConns: 1}, "ConnectTimeout": {ConnectTimeout: time.Second}, "TCPUserTimeout": {TCPUserTimeout: time.Second},
	} {
		_, err := postgres.New(t.Context(), nil, o)
		_, err2 := postgres.OpenPool(t.Context(), nil, o)
		for _, err := range []error{err, err2} {
			if err == nil || !strings.Contains(err.Error(), "Options."+name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := postgres.OpenPool(t.Context(), nil, postgres.Options{}); err == nil {
		t.Error("a nil pool")
	}
}
