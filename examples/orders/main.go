package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/examples/billing"
	"github.com/headrace/headrace/examples/internal/shop"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

func main() {
	file := flag.String("db", "", "the SQLite `file`; default: a new one in a temporary directory, which is kept")
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelWarn) // LevelInfo shows every failed attempt
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore) // Ctrl-C stops; a second one ends the process at once
	if err := run(ctx, *file, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string, stdout io.Writer) error {
	file, err := shop.File(file)
	if err != nil {
		return err
	}
	st, err := sqlite.Open(ctx, file, sqlite.Options{Migrate: true})
	if err != nil {
		return err
	}
	defer st.Close()
	if _, err := st.DB().ExecContext(ctx, shop.Tables); err != nil {
		return err
	}
	source := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	defer source.Close()
	if err := source.Publish("orders.paid", shop.Orders()...); err != nil {
		return err
	}
	c, err := wire(st, source)
	if err != nil {
		return err
	}
	if err := c.Run(shop.UntilDone(ctx, c, st)); err != nil { // yours: c.Run(ctx)
		return err
	}
	return shop.Report(ctx, stdout, file, c, st)
}

// wire returns the consumer on source. The invoices' events go to a handler of the same
// database. With a broker, give Config a Sink, and leave Local out.
func wire(st store.Store, source message.Subscriber) (*consumer.Consumer, error) {
	return billing.New(st, consumer.Config{Source: source}, "orders.paid", "invoices.created", consumer.Local())
}
