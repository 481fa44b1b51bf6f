package sqs_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/sqs"
)

// creating makes the queue of a topic first, as Watermill's suite wants it.
type creating struct {
	*sqs.Source
	create func(topic string) error
}

func (c creating) SubscribeInitialize(topic string) error { return c.create(topic) }

// TestPubSub is Watermill's own suite.
func TestPubSub(t *testing.T) {
	client := newClient(brokertest.Variable(t, variable, "sqs"))
	t.Parallel()
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("queue"+suffix, func(t *testing.T) {
			name := func(topic string) string { return topic + suffix }
			construct := func(t *testing.T) (message.Publisher, message.Subscriber) {
				source, err := sqs.NewSource(sqs.SourceOptions{Client: client, Queue: name, WaitTime: time.Second})
				if err != nil {
					t.Fatal(err)
				}
				sink, err := sqs.NewSink(sqs.SinkOptions{Client: client, Queue: name,
					OrderKey: func(_ string, m *message.Message) string { return m.UUID[:1] }})
				if err != nil {
					t.Fatal(err)
				}
				return sink, creating{source, func(topic string) error { create(t, client, name(topic), "VisibilityTimeout", "5"); return nil }}
			}
			tests.TestPubSub(t, tests.Features{
				ConsumerGroups:                      false, // a queue has no groups: SNS and a queue each
				ExactlyOnceDelivery:                 false,
				GuaranteedOrder:                     false, // the suite means one in flight by it; TestFIFO and TestConformanceFIFO show ours
				GuaranteedOrderWithSingleSubscriber: suffix != "",
				Persistent:                          true,
				ForceShort:                          true, // thousands of messages show no more, and ElasticMQ is slow
			}, construct, nil)
		})
	}
}
