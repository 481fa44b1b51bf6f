package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlite"
)

const tables = `
CREATE TABLE IF NOT EXISTS customers (name TEXT PRIMARY KEY, address TEXT);
CREATE TABLE IF NOT EXISTS invoices (order_id TEXT, customer TEXT, total INTEGER, mailed INTEGER DEFAULT 0)`

func main() {
	address := flag.String("addr", "127.0.0.1:8080", "where to serve HTTP")
	file := flag.String("db", "shop.db", "the SQLite file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *address, *file); err != nil {
		log.Fatalf("tutorial: %v", err)
	}
}

func run(ctx context.Context, address, file string) error {
	st, err := sqlite.Open(ctx, file, sqlite.Options{Migrate: true})
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	if _, err := st.DB().ExecContext(ctx, tables); err != nil {
		return err
	}
	s := &shop{db: st.DB(), events: outbox.New(st.Outbox())}
	c, err := consumer.New("shop", st, consumer.Config{
		Retry: retry.Policy{MaxAttempts: 8, Backoff: retry.Backoff{Initial: time.Second, Max: time.Minute, Factor: 2}},
	})
	if err != nil {
		return err
	}
	consumer.Handle(c, "orders.paid", s.addInvoice, consumer.Local())
	consumer.HandleLeased(c, "invoices.created", s.sendMail, consumer.Local())

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- server.Serve(listener)
	}()
	fmt.Printf("the shop serves http://%s, and its database is %s\n", listener.Addr(), file)
	err = c.Run(ctx)
	err = errors.Join(err, server.Close())
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}
