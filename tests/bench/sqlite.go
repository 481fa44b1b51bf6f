package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
)

func sqlitePart() []benchmark {
	part := []benchmark{
		{
			name: "sqlite_single", says: "single on SQLite, 64 in flight",
			run: runSQLite(64, func(l *lab, c *consumer.Consumer) { handleSingly(c, l.query("sqlite_invoice")) }),
		},
		{
			name: "sqlite_single_1", says: "single on SQLite, 1 in flight",
			run: runSQLite(1, func(l *lab, c *consumer.Consumer) { handleSingly(c, l.query("sqlite_invoice")) }),
		},
		{
			name: "sqlite_batch", says: "batch on SQLite, 512 in flight", against: []string{"sqlite_single"},
			run: runSQLite(512, (*lab).sqliteMany),
		},
		{name: "sqlite_relay_20k", says: "relay on SQLite, 20k waiting events", run: runSQLiteRelay(few)},
		{
			name: "sqlite_relay_300k", says: "relay on SQLite, 300k waiting events", run: runSQLiteRelay(300_000),
			against: []string{"sqlite_relay_20k"},
		},
	}
	for i := range part {
		part[i].part = "sqlite"
	}
	return part
}

// newSQLite makes a file with the tables of both headrace and the handler, and
// returns its path.
func (l *lab) newSQLite(ctx context.Context) (path string, err error) {
	if l.sqlite == "" {
		if l.sqlite, err = os.MkdirTemp("", "headrace-bench-"); err != nil {
			return "", fmt.Errorf("make a directory: %w", err)
		}
	}
	dir, err := os.MkdirTemp(l.sqlite, "")
	if err != nil {
		return "", fmt.Errorf("make a directory: %w", err)
	}
	path = filepath.Join(dir, "bench.db")
	st, err := sqlite.Open(ctx, path, sqlite.Options{Migrate: true})
	if err != nil {
		return "", err
	}
	_, err = st.DB().ExecContext(ctx, l.query("sqlite_create_invoices"))
	return path, errors.Join(err, st.Close())
}

func openSQLite(path string) func(context.Context) (opened, error) {
	return func(ctx context.Context) (opened, error) {
		st, err := sqlite.Open(ctx, path, sqlite.Options{})
		return opened{st, st, st}, err
	}
}

func runSQLite(inFlight int, register func(*lab, *consumer.Consumer)) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		return l.onSQLite(ctx, func(path string) (Figure, int, error) {
			return l.apply(ctx, a, application{
				inFlight: inFlight, register: func(c *consumer.Consumer) { register(l, c) },
				open: openSQLite(path),
			})
		})
	}
}

// onSQLite returns the figure of what run does on a new database, and proves that it made so many
// invoices.
func (l *lab) onSQLite(ctx context.Context, run func(path string) (Figure, int, error)) (figure Figure, err error) {
	path, err := l.newSQLite(ctx)
	if err != nil {
		return Figure{}, err
	}
	// It keeps the file open, so that closing the consumer's store does not copy the
	// journal before the figures are proved.
	st, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return Figure{}, err
	}
	defer func() { err = errors.Join(err, st.Close(), os.RemoveAll(filepath.Dir(path))) }()
	figure, n, err := run(path)
	if err != nil {
		return Figure{}, err
	}
	figure.ServerCPU = 0 // there is no server
	return figure, verify(ctx, st.DB(), l.query("sqlite_count"), n)
}

func (l *lab) sqliteMany(c *consumer.Consumer) {
	many := l.query("sqlite_invoice_many")
	handle := func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[order]) error {
		bodies, events := make([]invoiced, len(ms)), make([]headrace.Event, len(ms))
		for i, m := range ms {
			bodies[i] = invoicedFor(&m.Body)
			events[i] = headrace.Event{Topic: invoicesTopic, Value: bodies[i]}
		}
		list, err := json.Marshal(bodies)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, many, string(list)); err != nil {
			return err
		}
		return tx.Publish(events...)
	}
	consumer.HandleBatch(c, ordersTopic, handle)
}

func runSQLiteRelay(rows int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (figure Figure, err error) {
		path, err := l.newSQLite(ctx)
		if err != nil {
			return Figure{}, err
		}
		st, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return Figure{}, err
		}
		defer func() { err = errors.Join(err, st.Close(), os.RemoveAll(filepath.Dir(path))) }()
		figure, err = l.relayed(ctx, a.or(rows),
			openSQLite(path),
			func(ctx context.Context) error { return awaitEmpty(ctx, st.DB(), l.query("sqlite_outbox_left")) })
		figure.ServerCPU = 0
		return figure, err
	}
}
