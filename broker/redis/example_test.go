package redis_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/redis"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
)

// A consumer that takes orders from one stream, and adds to another. It is shown without
// output, because it takes a server.
func Example() {
	ctx := context.Background()
	client := goredis.NewClient(&goredis.Options{Addr: os.Getenv("HEADRACE_TEST_REDIS")})
	defer func() { _ = client.Close() }()

	source, err := redis.NewSource(redis.SourceOptions{Client: client, Group: "billing", Retention: 7 * 24 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	sink, err := redis.NewSink(redis.SinkOptions{Client: client})
	if err != nil {
		log.Fatal(err)
	}
	st, err := sqlite.Open(ctx, "orders.db", sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()

	c, err := consumer.New("billing", st, consumer.Config{Source: source, Sink: sink})
	if err != nil {
		log.Fatal(err)
	}
	type order struct{ ID string }
	consumer.Handle(c, "orders", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO invoices (id) VALUES ($1)", m.Body.ID); err != nil {
			return err
		}
		return tx.Publish(headrace.Event{Topic: "invoices", Value: m.Body})
	})
	if err := c.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// What would lose or repeat messages is refused with the option's name.
func ExampleNewSource() {
	client := goredis.NewClient(&goredis.Options{})
	defer func() { _ = client.Close() }()
	_, err := redis.NewSource(redis.SourceOptions{Client: client, Group: "billing", ClaimAfter: 100 * time.Millisecond})
	fmt.Println(err)
	// Output:
	// redis: option SourceOptions.ClaimAfter is 100ms: it may be 1s to 24h0m0s, or 0 for the default
}
