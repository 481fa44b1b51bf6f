package retry_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/headrace/headrace/retry"
)

// A handler of an existing Router that fails twice is run a third time, with the
// message as it came.
func ExampleMiddleware() {
	again, err := retry.Middleware(retry.Policy{
		MaxAttempts: 5,
		Immediate:   1,
		Backoff:     retry.Backoff{Initial: 10 * time.Millisecond, Max: time.Second},
	}, retry.MiddlewareOptions{Timeout: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	broker := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		log.Fatal(err)
	}
	router.AddMiddleware(again)
	attempts, done := 0, make(chan struct{})
	router.AddConsumerHandler("mails", "orders.paid", broker, func(m *message.Message) error {
		attempts++
		fmt.Printf("attempt %d of %s\n", attempts, m.Payload)
		if attempts < 3 {
			m.Payload = nil // the next attempt has its own
			return errors.New("mail server busy")
		}
		close(done)
		return nil
	})
	ended := make(chan error)
	go func() { ended <- router.Run(context.Background()) }()
	<-router.Running()
	if err := broker.Publish("orders.paid", message.NewMessage("1", []byte("order 1"))); err != nil {
		log.Fatal(err)
	}
	<-done
	if err := router.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("ended:", <-ended)
	// Output:
	// attempt 1 of order 1
	// attempt 2 of order 1
	// attempt 3 of order 1
	// ended: <nil>
}
