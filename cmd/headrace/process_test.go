package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/instance"
)

// process runs a process of the consumer billing until the script ends. Its handler
// orders.paid writes a row into effects and publishes invoices.created, and fails with the
// messages whose keys are given: process BUILD KEY... The build ! declares it not Rehearsable.
func process(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: process BUILD KEY...")
	}
	db, err := parseDSN(ts.Getenv("HEADRACE_DSN"))
	ts.Check(err)
	st, err := New().open(context.Background(), db, ts.Getenv("SCHEMA"), false)
	ts.Check(err)
	c, err := consumer.New("billing", st.Store, consumer.Config{
		Build: args[0], Codec: codec.Raw(), Rehearsable: args[0] != "!", Logger: slog.New(slog.DiscardHandler), Alert: func(context.Context, alerts.Alert) error { return nil },
	})
	ts.Check(err)
	fails := strings.Join(args[1:], " ")
	consumer.Handle(c, "orders.paid", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[[]byte]) error {
		if strings.Contains(fails, m.Key) {
			return errors.New("still broken")
		}
		if err := tx.Publish(headrace.Event{Topic: "invoices.created", Payload: []byte("{}")}); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg) VALUES ($1)", m.Key)
		return err
	}, consumer.Local())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	waitsListed(ts.Fatalf, st.Operations().Instances, args[0])
	ts.Defer(func() {
		stop()
		if err := errors.Join(<-ended, st.Close()); err != nil {
			ts.Logf("process: %v", err)
		}
	})
}

// waitsListed waits until a process of billing with this build is listed: a command that came before
// would not find it.
func waitsListed(fatal func(string, ...any), instances instance.Store, build string) {
	waits(fatal, "a process with build "+build+" is listed", func() bool {
		list, err := instances.List(context.Background(), "billing")
		return err == nil && slices.ContainsFunc(list, func(i instance.Instance) bool { return i.Build == build && i.Ended.IsZero() })
	})
}

// waits waits for what the tables say.
func waits(fatal func(string, ...any), what string, is func() bool) {
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			fatal("it is not so that %s", what)
		}
	}
}
