package nats_test

import (
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/nats"
)

// TestWatermill runs Watermill's own suite: as it is by default, and with one message at
// a time, which keeps the order over processes. All subscribers of a group are one durable,
// so that a new one gets nothing old; a new group does, see TestNewGroup.
func TestWatermill(t *testing.T) {
	for name, c := range map[string]struct {
		pending  int
		features tests.Features
	}{
		"default": {0, tests.Features{ConsumerGroups: true, Persistent: true, GuaranteedOrderWithSingleSubscriber: true}},
		"ordered": {1, tests.Features{ConsumerGroups: true, Persistent: true, GuaranteedOrder: true, ForceShort: true}},
	} {
		t.Run(name, func(t *testing.T) {
			tests.TestPubSub(t, c.features,
				func(t *testing.T) (message.Publisher, message.Subscriber) { return pubSub(t, "group", c.pending) },
				func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
					return pubSub(t, group, c.pending)
				})
		})
	}
}

// A new durable gets what the stream has already.
func TestNewGroup(t *testing.T) {
	t.Parallel()
	tests.TestNewSubscriberReceivesOldMessages(t,
		tests.TestContext{TestID: tests.NewTestID(), Features: tests.Features{Persistent: true, NewSubscriberReceivesOldMessages: true}},
		func(t *testing.T) (message.Publisher, message.Subscriber) { return pubSub(t, newTopic(), 0) })
}

func pubSub(t *testing.T, group string, pending int) (message.Publisher, message.Subscriber) {
	t.Helper()
	at := nats.Server{URL: brokertest.Variable(t, variable, "nats")}
	sink, err := nats.NewSink(nats.SinkOptions{Server: at, Provision: stream})
	if err != nil {
		t.Fatal(err)
	}
	source, err := nats.NewSource(nats.SourceOptions{Server: at, Provision: stream, Durable: group, MaxAckPending: pending, NackDelay: 20_000_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(source.Close(), sink.Close()) }) // the suite leaves one open
	return sink, source
}
