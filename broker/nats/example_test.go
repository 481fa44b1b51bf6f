package nats_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/nats"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
)

// An order is paid, and the message comes twice. A NATS server runs within the program
// here; elsewhere its URL is all that changes.
func Example() {
	dir, err := os.MkdirTemp("", "nats")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		log.Fatal(err)
	}
	server.Start()
	defer server.WaitForShutdown()
	defer server.Shutdown()
	if !server.ReadyForConnections(10 * time.Second) {
		log.Fatal("the server does not start")
	}

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	at := nats.Server{URL: server.ClientURL()}
	orders := func(string) jetstream.StreamConfig {
		return jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, MaxAge: 7 * 24 * time.Hour}
	}
	source, err := nats.NewSource(nats.SourceOptions{Server: at, Durable: "billing", Stream: "ORDERS", Provision: orders})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	sink, err := nats.NewSink(nats.SinkOptions{Server: at, Provision: orders})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = sink.Close() }()

	c, err := consumer.New("billing", st, consumer.Config{Source: source, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		log.Fatal(err)
	}
	handled := make(chan string, 10)
	consumer.Handle(c, "orders.paid", func(_ context.Context, _ *headrace.Tx, m *headrace.Message[map[string]int]) error {
		handled <- fmt.Sprintf("order %d is paid, message %s from %s", m.Body["id"], m.ID, m.Coordinates.Topic)
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()

	for _, id := range []string{"m-1", "m-1", "m-2"} {
		m := message.NewMessage(id, []byte(`{"id": 1}`))
		if id == "m-2" {
			m.Payload = []byte(`{"id": 2}`)
		}
		if err := sink.Publish("orders.paid", m); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(<-handled)
	fmt.Println(<-handled)
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// order 1 is paid, message m-1 from ORDERS
	// order 2 is paid, message m-2 from ORDERS
}
