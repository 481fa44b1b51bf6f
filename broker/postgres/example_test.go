package postgres_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/postgres"
)

// A message passes through a queue in a PostgreSQL database, here the one that
// HEADRACE_TEST_POSTGRES names. It is shown without output because that is not always set;
// the conformance suite runs the same.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	db, err := server{os.Getenv(variable)}.open("") // sql.Open("postgres", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := postgres.Create(ctx, db, "public"); err != nil {
		log.Fatal(err)
	}
	source, err := postgres.NewSource(postgres.SourceOptions{DB: db, Group: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	sink, err := postgres.NewSink(postgres.SinkOptions{DB: db})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = sink.Close() }()

	messages, err := source.Subscribe(ctx, "orders.paid") // as consumer.Config.Source does
	if err != nil {
		log.Fatal(err)
	}
	if err := sink.Publish("orders.paid", message.NewMessage("m-1", []byte(`{"id": 1}`))); err != nil {
		log.Fatal(err)
	}
	m := <-messages
	fmt.Println(m.UUID, string(m.Payload))
	m.Ack()
}
