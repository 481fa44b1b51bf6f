package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/postgres"
)

// place is where a worker finds its messages, and writes its effects. The search path of dsn
// is schema.
type place struct {
	broker, address, topic, dsn, schema string
}

// start starts a worker for p.
func (p place) start() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-worker", p.broker, p.address, p.topic, p.dsn, p.schema)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	return cmd, nil
}

// work is a worker: it inserts the number of each message until ctx ends.
func work(ctx context.Context, b broker, p place) error {
	st, err := postgres.Open(ctx, p.dsn, postgres.Options{Schema: p.schema, MaxConns: 8})
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	source, err := b.open(ctx, p.address, p.topic)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	c, err := consumer.New("foreign", st, consumer.Config{
		Source: source,
		Retry:  retry.Policy{MaxAttempts: 3},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	type body struct {
		N int64 `json:"n"`
	}
	consumer.Handle(c, p.topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		time.Sleep(time.Millisecond) // so that a kill meets work
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (n) VALUES ($1)", m.Body.N)
		return err
	}, b.options...)
	return c.Run(ctx)
}
