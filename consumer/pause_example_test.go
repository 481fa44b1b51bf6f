package consumer_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/store/sqlite"
)

// A pause is a row: it counts for every process of the consumer, and for those that
// start later.
func ExampleConsumer_Pause() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()

	// Without a Consumer at hand, as headrace consumer pause does it:
	first, err := st.Operations().Pauses.Pause(ctx, instance.Pause{Consumer: "billing", By: "ana", Reason: "the bank is down"})
	fmt.Println("paused:", first, err)

	c, err := consumer.New("billing", st, consumer.Config{Source: memsource.New()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Pause(ctx, "ben", "late")) // the first pause stands
	p, paused := c.Paused()
	fmt.Println(paused, p.By, p.Reason)
	fmt.Println(c.Resume(ctx, "ben"))
	_, paused = c.Paused()
	fmt.Println(paused)
	// Output:
	// paused: true <nil>
	// <nil>
	// true ana the bank is down
	// <nil>
	// false
}
