package consumer_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/retry"
)

// A key function that ends its goroutine ends the subscription, which nothing else would tell: Run returns.
//
//evidence:subscription
func TestGoexitInAKeyFunction(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		config.Key = func(*headrace.Delivery) (string, error) {
			runtime.Goexit()
			return "", nil
		}
		c := b.consumer(config)
		consumer.Handle(c, topic, insert)
		b.start(c)
		m := b.deliver("m", `{}`)
		if err := b.wait(); !errors.Is(err, retry.ErrGoexit) {
			b.Errorf("Run returned %v", err)
		}
		select {
		case <-m.Acked():
			b.Error("it is acknowledged")
		default:
		}
	})
}
