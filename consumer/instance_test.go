package consumer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
)

// closedSource fails at once.
type closedSource struct{}

func (closedSource) Subscribe(context.Context, string) (<-chan *message.Message, error) {
	return nil, errors.New("the source is closed")
}

func (closedSource) Close() error { return nil }

// A process that ends while it starts has ended in order: it leaves no row that looks like
// that of a dead one.
func TestEndDuringTheStart(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		config.Source = closedSource{}
		for range 12 {
			c := b.consumer(config)
			handled(c)
			if err := c.Run(b.Context()); err == nil {
				b.Fatal("Run without a source returned nil")
			}
		}
		list, err := b.st.Operations().Instances.List(b.Context(), "test")
		if err != nil {
			b.Fatal(err)
		}
		for _, i := range list {
			if i.Ended.IsZero() {
				b.Errorf("an instance of %d is still there, last seen %s ago", len(list), i.Age)
			}
		}
	})
}
