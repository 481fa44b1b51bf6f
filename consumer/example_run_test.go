package consumer_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
)

// Two consumers in one process, with one life and one pair of probes.
func ExampleRun() {
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop() // a program takes signal.NotifyContext
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "shop.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	source := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})

	var consumers []*consumer.Consumer
	for _, name := range []string{"billing", "shipping"} {
		c, err := consumer.New(name, st, consumer.Config{Source: source})
		if err != nil {
			log.Fatal(err)
		}
		consumer.Handle(c, "orders.paid", func(context.Context, *headrace.Tx, *headrace.Message[Order]) error { return nil })
		consumers = append(consumers, c)
	}
	probes := httptest.NewServer(consumer.Probes(consumers...)) // a program mounts it in its own server
	defer probes.Close()
	ask := func() int {
		answer, err := http.Get(probes.URL + "/readyz")
		if err != nil {
			log.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	fmt.Println(ask())
	go func() {
		defer stop()
		for ask() != http.StatusOK {
		}
		fmt.Println("ready")
	}()
	fmt.Println(consumer.Run(ctx, consumers...))
	// Output:
	// 503
	// ready
	// <nil>
}
