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
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/headrace/headrace/broker/sqs"
	"github.com/headrace/headrace/examples/internal/shop"
	"github.com/headrace/headrace/tests/endtoend/services"
)

var (
	file          = flag.String("db", "", "the SQLite `file`; default: a new one in a temporary directory, which is kept")
	broker        = flag.String("broker", "", "the `URL` of a server that speaks SQS; default: that of docker compose, else one is started")
	paid, created = "example-orders-paid", "example-invoices-created" // the topics, which are queues
)

func main() {
	flag.Parse()
	slog.SetLogLoggerLevel(slog.LevelWarn) // LevelInfo shows every failed attempt
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, restore) // Ctrl-C stops; a second one ends the process at once
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sqs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stdout io.Writer) (err error) {
	found, err := services.SQS.Find(ctx, *broker, false, os.Stderr) // on AWS the SDK knows
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Stop()) }()
	// On AWS: sqs.NewFromConfig with what config.LoadDefaultConfig returns.
	client := awssqs.New(awssqs.Options{BaseEndpoint: &found.Address, Region: "elasticmq", Credentials: aws.AnonymousCredentials{}})
	for _, queue := range []string{paid, created} { // leave it out where they exist
		if _, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &queue}); err != nil {
			return err
		}
	}
	source, err := sqs.NewSource(sqs.SourceOptions{Client: client, WaitTime: time.Second})
	if err != nil {
		return err
	}
	defer source.Close()
	sink, err := sqs.NewSink(sqs.SinkOptions{Client: client})
	if err != nil {
		return err
	}
	defer sink.Close()
	return shop.Broker{Source: source, Sink: sink, Paid: paid, Created: created}.Run(ctx, stdout, *file)
}
