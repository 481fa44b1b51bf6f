package redis_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/redis"
)

// TestPubSub is Watermill's own suite.
func TestPubSub(t *testing.T) {
	client := newClient(brokertest.Variable(t, variable, "redis"))
	t.Parallel()
	t.Cleanup(func() { _ = client.Close() })
	grouped := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		source, err := redis.NewSource(redis.SourceOptions{
			Client: client, Group: group, Block: 50 * time.Millisecond, ClaimEvery: 50 * time.Millisecond, NackDelay: 100 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		sink, err := redis.NewSink(redis.SinkOptions{Client: client})
		if err != nil {
			t.Fatal(err)
		}
		return sink, source
	}
	tests.TestPubSub(t, tests.Features{
		ConsumerGroups:                      true,
		ExactlyOnceDelivery:                 false,
		GuaranteedOrder:                     false, // the suite means one in flight by it
		GuaranteedOrderWithSingleSubscriber: true,
		Persistent:                          true,
		NewSubscriberReceivesOldMessages:    true,
	}, func(t *testing.T) (message.Publisher, message.Subscriber) {
		return grouped(t, watermill.NewShortUUID())
	}, grouped)
}
