package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/examples/router/after"
	"github.com/headrace/headrace/examples/router/before"
	"github.com/headrace/headrace/examples/router/db"
	"github.com/headrace/headrace/examples/router/shop"
)

// service is the program that existed, or what became of it. It runs until ctx ends.
type service func(ctx context.Context, path string, sub message.Subscriber, pub message.Publisher, flaky *shop.Flaky) error

var versions = map[string]struct{ before, after service }{
	"sqlc": {before.SQLC, after.SQLC},
	"gorm": {before.Gorm, after.Gorm},
}

// figures are what a run left behind.
type figures struct {
	delivered, messages, applied, dead, lost, appliedTwice, announced, announcedTwice int
}

// try has s work on n messages in a fresh database at path, and counts.
func try(ctx context.Context, path string, n int, s service) (f figures, err error) {
	database, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	if _, err := database.ExecContext(ctx, db.Schema); err != nil {
		return f, err
	}
	source, err := newBroker(n)
	if err != nil {
		return f, err
	}
	pub := &published{}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s(running, path, source, pub, &shop.Flaky{}) }()
	select {
	case <-source.empty:
		err = settled(ctx, database)
	case err := <-ended:
		return f, fmt.Errorf("the service ended: %w", err)
	case <-ctx.Done():
		err = ctx.Err()
	}
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		return f, err
	}
	return count(ctx, database, source, pub, n)
}

// settled waits until nothing waits for another try or to be published.
func settled(ctx context.Context, database *sql.DB) error {
	for _, table := range []string{"headrace_backlog", "headrace_outbox"} {
		there, err := number(ctx, database, "SELECT count(*) FROM sqlite_master WHERE name = $1", table)
		if err != nil || there == 0 {
			return err
		}
	}
	for {
		left, err := number(ctx, database, "SELECT (SELECT count(*) FROM headrace_backlog) + (SELECT count(*) FROM headrace_outbox)")
		if err != nil || left == 0 {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func count(ctx context.Context, database *sql.DB, source *broker, pub *published, n int) (f figures, err error) {
	f.delivered, f.messages = source.delivered, n
	f.announced, f.announcedTwice = pub.invoices()
	letters, err := number(ctx, database, "SELECT count(*) FROM sqlite_master WHERE name = 'headrace_dead_letters'")
	if err != nil {
		return f, err
	}
	if letters > 0 {
		if f.dead, err = number(ctx, database, "SELECT count(*) FROM headrace_dead_letters WHERE state = 'open'"); err != nil {
			return f, err
		}
	}
	if f.applied, err = number(ctx, database, "SELECT count(DISTINCT order_id) FROM invoices"); err != nil {
		return f, err
	}
	f.appliedTwice, err = number(ctx, database, "SELECT count(*) FROM (SELECT order_id FROM invoices GROUP BY order_id HAVING count(*) > 1)")
	f.lost = f.messages - f.applied - f.dead
	return f, err
}

func number(ctx context.Context, database *sql.DB, query string, args ...any) (n int, err error) {
	err = database.QueryRowContext(ctx, query, args...).Scan(&n)
	if err != nil {
		err = fmt.Errorf("%s: %w", query, err)
	}
	return n, err
}
