package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/examples/internal/database"
	"github.com/headrace/headrace/outbox"
)

// order is what the events say.
type order struct {
	ID int `json:"id"`
}

// shop is the database, and the program's tables in it.
type shop struct{ *database.Database }

func open(ctx context.Context, file, dsn string) (*shop, error) {
	d, err := database.Open(ctx, file, dsn)
	if err != nil {
		return nil, err
	}
	for _, table := range []string{
		"CREATE TABLE IF NOT EXISTS requests (id integer PRIMARY KEY)",
		"CREATE TABLE IF NOT EXISTS orders (id integer)",
		"CREATE TABLE IF NOT EXISTS invoices (order_id integer)",
	} {
		if _, err := d.DB.ExecContext(ctx, table); err != nil {
			return nil, errors.Join(fmt.Errorf("create tables: %w", err), d.Close())
		}
	}
	return &shop{d}, nil
}

// consumers returns the two that talk to each other.
func (s *shop) consumers() ([]*consumer.Consumer, error) {
	orders, err := consumer.New("orders", s, consumer.Config{})
	if err != nil {
		return nil, err
	}
	consumer.Handle(orders, "order.requested", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id) VALUES ($1)", m.Body.ID); err != nil {
			return err
		}
		return tx.Publish(headrace.Event{Topic: "order.placed", Value: m.Body})
	}, consumer.Local())

	billing, err := consumer.New("billing", s, consumer.Config{})
	if err != nil {
		return nil, err
	}
	consumer.Handle(billing, "order.placed", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id) VALUES ($1)", m.Body.ID)
		return err
	}, consumer.Local())
	return []*consumer.Consumer{orders, billing}, nil
}

// run asks for what is missing to n requests, and works until every one has its invoice.
func (s *shop) run(ctx context.Context, n int) error {
	consumers, err := s.consumers()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, len(consumers))
	for _, c := range consumers {
		go func() {
			defer stop() // the end of one is the end of both
			ended <- c.Run(ctx)
		}()
	}
	err = s.ask(ctx, n)
	if err == nil {
		err = s.wait(ctx)
	}
	stop()
	for range consumers {
		err = errors.Join(err, <-ended)
	}
	return err
}

// ask writes requests, each chunk in one transaction with its events.
func (s *shop) ask(ctx context.Context, n int) error {
	ob := outbox.New(s.Outbox())
	var asked int
	if err := s.DB.QueryRowContext(ctx, "SELECT count(*) FROM requests").Scan(&asked); err != nil {
		return fmt.Errorf("count requests: %w", err)
	}
	for asked < n {
		last := min(asked+50, n)
		if err := s.askFor(ctx, ob, asked+1, last); err != nil {
			return fmt.Errorf("ask for orders: %w", err)
		}
		asked = last
		ob.Wake()
	}
	return nil
}

func (s *shop) askFor(ctx context.Context, ob *outbox.Outbox, first, last int) error {
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var events []headrace.Event
	for id := first; id <= last; id++ {
		if _, err := tx.ExecContext(ctx, "INSERT INTO requests (id) VALUES ($1)", id); err != nil {
			return err
		}
		events = append(events, headrace.Event{ID: fmt.Sprintf("request-%d", id), Topic: "order.requested", Value: order{ID: id}, Local: true})
	}
	if err := ob.Publish(ctx, tx, events...); err != nil {
		return err
	}
	return tx.Commit()
}

// wait looks now and then whether every request has its invoice.
func (s *shop) wait(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		f, err := s.figures(ctx)
		if err != nil || f.lost == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("stopped before all was done; the same command again goes on")
		}
	}
}
