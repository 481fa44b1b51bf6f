package docs_test

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
)

// What docs/kubernetes.md shows: TestGoIsCompiled looks for its lines here.
var _ = func(billing, mailing *consumer.Consumer) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server := &http.Server{Addr: ":8080", Handler: consumer.Probes(billing, mailing)}
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
	err := consumer.Run(ctx, billing, mailing)
	_ = server.Shutdown(context.Background())
	if err != nil {
		log.Fatal(err)
	}
}

type order struct{ ID string }

// What docs/keys.md shows.
var _ = func(c *consumer.Consumer, addInvoice func(context.Context, *headrace.Tx, *headrace.Message[order]) error) {
	consumer.Handle(c, "orders.paid", addInvoice,
		consumer.Key(inbox.JSON("id")),
		consumer.SameWhen(inbox.Fields("id", "total")))
}
