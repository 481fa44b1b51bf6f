package amqp_test

import (
	"context"
	"errors"
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
			// The server works for each queue that is left.
			var queues sync.Map
			t.Cleanup(func() {
				err := plain(context.Background(), func(ch *amqp091.Channel) (err error) {
					for name := range queues.Range {
						_, failed := ch.QueueDelete(name.(string), false, false, false)
						err = errors.Join(err, failed)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
			named := func(suffix string) func(string) string {
				return func(topic string) string {
					queues.Store(topic+suffix, nil)
					return topic + suffix
				}
			}
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
					return pair(t, amqp.Topology{Declare: kind, Queue: named("")})
				},
				func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
					return pair(t, amqp.Topology{
						Declare: kind, Exchange: "headrace-tests",
						Queue: named("." + group),
					})
				},
			)
		})
	}
}
