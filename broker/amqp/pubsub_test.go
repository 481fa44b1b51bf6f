package amqp_test

import (
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/amqp"
)

// The suite that Watermill asks of every Pub/Sub, over queues of either kind.
func TestPubSub(t *testing.T) {
	for _, kind := range []amqp.Kind{amqp.Classic, amqp.Quorum} {
		t.Run(string(kind), func(t *testing.T) {
			url := variable(t, "HEADRACE_TEST_RABBITMQ")
			var queues sync.Map
			t.Cleanup(func() { deleteQueues(t, url, &queues) })
			pair := func(t *testing.T, topology amqp.Topology) (message.Publisher, message.Subscriber) {
				server := amqp.Server{URL: url, Timeout: waitTimeout}
				sink, err := amqp.NewSink(amqp.SinkOptions{Server: server, Topology: topology, ConfirmTimeout: waitTimeout})
				if err != nil {
					t.Fatal(err)
				}
				source, err := amqp.NewSource(amqp.SourceOptions{Server: server, Topology: topology, NackPause: time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				return sink, source
			}
			tests.TestPubSub(t,
				tests.Features{
					ConsumerGroups: true, Persistent: true,
					// While nothing comes again. (GuaranteedOrder asks for one in flight.)
					GuaranteedOrderWithSingleSubscriber: true,
					ForceShort:                          kind == amqp.Quorum,
				},
				func(t *testing.T) (message.Publisher, message.Subscriber) {
					return pair(t, amqp.Topology{Declare: kind, Queue: func(topic string) string {
						queues.Store(topic, nil)
						return topic
					}})
				},
				func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
					return pair(t, amqp.Topology{
						Declare: kind, Exchange: "headrace-tests",
						Queue: func(topic string) string {
							queues.Store(topic+"."+group, nil)
							return topic + "." + group
						},
					})
				},
			)
		})
	}
}

// deleteQueues deletes what the suite has left: the server works for each queue.
func deleteQueues(t *testing.T, url string, queues *sync.Map) {
	conn, err := amqp091.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	for name := range queues.Range {
		if _, err := ch.QueueDelete(name.(string), false, false, false); err != nil {
			t.Fatal(err)
		}
	}
}
