package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/headrace/headrace/broker/kafka"
	"github.com/headrace/headrace/examples/internal/shop"
	"github.com/headrace/headrace/tests/endtoend/services"
)

var (
	file          = flag.String("db", "", "the SQLite `file`; default: a new one in a temporary directory, which is kept")
	broker        = flag.String("broker", "", "Kafka's `host:port`; default: that of docker compose, else one is started")
	paid, created = "example.orders.paid", "example.invoices.created" // the topics
)

func main() {
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelWarn) // LevelInfo shows every failed attempt
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore) // Ctrl-C stops; a second one ends the process at once
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kafka:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stdout io.Writer) (err error) {
	found, err := services.Kafka.Find(ctx, *broker, false, os.Stderr) // your program knows its brokers
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Stop()) }()
	brokers := []string{found.Address}
	source, err := kafka.NewSource(kafka.SourceOptions{Brokers: brokers, Group: "example.billing", NewTopic: kafka.NewTopic{Partitions: 4}})
	if err != nil {
		return err
	}
	defer source.Close()
	// This makes the topics. Leave it out where they exist.
	if err := errors.Join(source.SubscribeInitialize(paid), source.SubscribeInitialize(created)); err != nil {
		return err
	}
	sink, err := kafka.NewSink(kafka.SinkOptions{Brokers: brokers})
	if err != nil {
		return err
	}
	defer sink.Close()
	return shop.Broker{Source: source, Sink: sink, Paid: paid, Created: created}.Run(ctx, stdout, *file)
}
