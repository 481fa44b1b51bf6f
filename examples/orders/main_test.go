package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/examples/billing"
	"github.com/headrace/headrace/examples/internal/shop"
)

// The page shows what is printed. A second run on the same file applies nothing twice.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.db")
	var first, second bytes.Buffer
	if err := run(t.Context(), file, &first); err != nil {
		t.Fatalf("%v\n%s", err, &first)
	}
	printed := strings.ReplaceAll(first.String(), file, "/tmp/orders-123/orders.db")
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), printed) {
		t.Errorf("README.md does not show what was printed:\n%s", printed)
	}
	if err := run(t.Context(), file, &second); err != nil {
		t.Errorf("the second run: %v\n%s", err, &second)
	}
}

// A run that is stopped in the middle says how to go on, and the next one does the rest.
func TestStopped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.db")
	ctx, stop := context.WithCancel(t.Context())
	go func() { // ends with ctx
		for ctx.Err() == nil {
			if n, err := invoices(file); err == nil && n > 0 {
				stop()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if err := run(ctx, file, new(bytes.Buffer)); err != nil && !strings.Contains(err.Error(), "-db "+file) {
		t.Errorf("the run that was stopped: %v", err)
	}
	stop()
	var out bytes.Buffer
	if err := run(t.Context(), file, &out); err != nil {
		t.Errorf("the next run: %v\n%s", err, &out)
	}
}

func invoices(file string) (n int, err error) {
	if _, err := os.Stat(file); err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRow("SELECT count(*) FROM invoices").Scan(&n)
	return n, err
}

// An effect that is missing or there twice fails the run.
func TestWrongCounts(t *testing.T) {
	for _, wrong := range []string{
		"INSERT INTO invoices SELECT * FROM invoices WHERE order_id = 1",
		"DELETE FROM mails WHERE order_id = 1; INSERT INTO mails SELECT order_id FROM mails WHERE order_id = 2",
	} {
		file := filepath.Join(t.TempDir(), "orders.db")
		if err := run(t.Context(), file, new(bytes.Buffer)); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(wrong)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), file, new(bytes.Buffer)); err == nil {
			t.Errorf("after %q the counts are taken for right", wrong)
		}
	}
}

// Your own handlers can be tested like this: the kit runs the program's wiring and does to
// it what production does.
func TestInvoiceOnce(t *testing.T) {
	k := consumertest.New(t, consumertest.SQLite(), func(p *consumertest.Process) (*consumer.Consumer, error) {
		return wire(p.Store, p.Source)
	})
	k.Exec(shop.Tables)
	const count = "SELECT count(*) FROM invoices WHERE order_id = 7"
	order := consumertest.JSON("orders.paid", "webhook-7", billing.Order{ID: 7, Total: 700})
	again := order
	again.ID = "webhook-7-again"

	k.CrashAt(consumertest.AfterCommit) // another process goes on
	k.DeliverAtOnce(3, order)           // to three processes
	k.Deliver(again)
	k.AppliedOnce(order, count)
	if n := len(k.Attempts(order)); n != 2 { // the simulated failures
		t.Errorf("%d failed attempts, want 2", n)
	}

	poison := consumertest.JSON("orders.paid", "webhook-8", billing.Order{ID: 8})
	k.Deliver(poison)
	k.DeadLettered(poison, dlq.Permanent, errors.New("the total is not positive"))
}
