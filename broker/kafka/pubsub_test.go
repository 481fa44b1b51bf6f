package kafka_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/headrace/headrace/broker/kafka"
)

// Watermill's own suite. With a window of one a subscription has nothing beside the
// message that is not acknowledged, which is what the suite calls guaranteed order; with
// more it has many.
func TestPubSub(t *testing.T) {
	need(t)
	for name, window := range map[string]int{"window of one": 1, "window": 0} {
		t.Run(name, func(outer *testing.T) {
			group := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
				o := server{addr: theServer.addr, group: group}.sourceOptions("")
				o.Window = window
				source, err := kafka.NewSource(o)
				if err != nil {
					t.Fatal(err)
				}
				sink, err := theServer.Sink("")
				if err != nil {
					t.Fatal(err)
				}
				// One test of the suite forgets its subscriber, one its publisher.
				outer.Cleanup(func() { _, _ = source.Close(), sink.Close() })
				return patient{sink}, source
			}
			tests.TestPubSub(outer, tests.Features{
				ConsumerGroups: true, Persistent: true, NewSubscriberReceivesOldMessages: true, ForceShort: true,
				GuaranteedOrder: window == 1, GuaranteedOrderWithSingleSubscriber: window == 1,
			}, func(t *testing.T) (message.Publisher, message.Subscriber) {
				name := strings.ReplaceAll(t.Name(), "/", ".")
				if strings.Contains(name, "TestNewSubscriberReceivesOldMessages") {
					name += rand.Text() // each subscriber is to get all
				}
				return group(t, name)
			}, group)
		})
	}
}

// patient is a publisher that waits for a topic which was made a moment ago: on a busy machine the
// server does not know it for seconds, and the suite hangs when its publishers give up.
type patient struct{ message.Publisher }

func (p patient) Publish(topic string, messages ...*message.Message) error {
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := p.Publisher.Publish(topic, messages...)
		if !errors.Is(err, kerr.UnknownTopicOrPartition) || time.Now().After(until) {
			return err
		}
	}
}
