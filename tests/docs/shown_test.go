package docs_test

import (
	"context"
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
	go func() { log.Fatal(http.ListenAndServe(":8080", consumer.Probes(billing, mailing))) }()
	if err := consumer.Run(ctx, billing, mailing); err != nil {
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
