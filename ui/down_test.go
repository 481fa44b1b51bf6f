package ui_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/ui"
	"github.com/headrace/headrace/ui/answer"
	"github.com/headrace/headrace/ui/who"
)

// A visit ends in time, also while another login holds the letters; and what it says is what is known. The log has a
// line for each.
func TestDatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	dsn, schema := pgstore.New(t)
	db := pgtest.OpenDB(t, pgstore.Driver(t), dsn)
	// As headrace ui opens it: lib/pq's request to cancel may come before its statement does, and then ends nothing.
	st := pgstore.Open(t, dsn, postgres.Options{Schema: schema})
	var left time.Duration
	f := on(t, st, ui.Options{Identify: func(r *http.Request) (who.Person, error) {
		end, _ := r.Context().Deadline()
		left = time.Until(end)
		return who.Person{Name: "ann", Role: who.Operator}, nil
	}})
	if f.get("/"); left <= 0 || left > 30*time.Second {
		t.Errorf("a visit may take %s", left)
	}
	holds, err := db.BeginTx(t.Context(), nil)
	if err == nil {
		_, err = holds.ExecContext(t.Context(), "LOCK headrace_dead_letters")
	}
	if err != nil {
		t.Fatal(err)
	}
	soon := func(r *http.Request) {
		ctx, end := context.WithTimeout(r.Context(), 50*time.Millisecond)
		t.Cleanup(end)
		*r = *r.WithContext(ctx)
	}
	gone := func(r *http.Request) {
		ctx, end := context.WithCancel(r.Context())
		end()
		*r = *r.WithContext(ctx)
	}
	logs := func(method, says string, lines int, change ...func(*http.Request)) {
		t.Helper()
		f.sendOnce(method, map[string]string{"GET": "/l/1", "POST": "/l/1/plan"}[method], nil, change...)
		if says != "" {
			f.wants(http.StatusServiceUnavailable, says)
		}
		if unsure := strings.Contains(f.body, "Nothing is known"); unsure != (method == "POST") || strings.Count(f.logged.String(), "\n") != lines {
			t.Errorf("%s %s: it logged %s", method, f.text(), f.logged)
		}
		f.logged.Reset()
	}
	logs("GET", "The database did not answer in time.", 1, soon)
	logs("POST", "The database did not answer in time.", 1, soon)
	logs("GET", "", 0, gone)
	if err := holds.Rollback(); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{driver.ErrBadConn, &net.OpError{Op: "dial", Err: errors.New("refused")}} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		if status, says, ours := answer.Status(r, fmt.Errorf("read the letters: %w", err)); status != 503 || !ours || !strings.Contains(says, "not reachable") {
			t.Errorf("%v: %d %s %t", err, status, says, ours)
		}
	}
}
