package consumer_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec/cloudevents"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
)

// A handler reads CloudEvents with its attributes in headers, publishes CloudEvents, and a
// local handler reads these. Source and id are the key.
func TestCloudEvents(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		ce, err := cloudevents.New("/test", cloudevents.Options{Mode: cloudevents.Kafka})
		if err != nil {
			b.Fatal(err)
		}
		out := &sink{make(chan *message.Message, 10)}
		config := b.config()
		config.Sink, config.Codec = out, ce
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			return tx.Publish(headrace.Event{Topic: "out", Value: body{m.Body.N + 1}})
		})
		local := make(chan event.Event, 10)
		consumer.Handle(c, "out", func(_ context.Context, _ *headrace.Tx, m *headrace.Message[event.Event]) error {
			local <- m.Body
			return nil
		}, consumer.Local())
		b.start(c)
		headers := map[string]string{"ce_specversion": "1.0", "ce_id": "1", "ce_source": "/a:b", "ce_type": "t", "content-type": "application/json"}
		b.acked(b.src.Deliver(topic, "first", []byte(`{"n":1}`), headers))
		b.acked(b.src.Deliver(topic, "again", []byte(`{"n":1}`), headers))
		if state := b.state("/a\\:b:1"); state != inbox.Done {
			b.Errorf("the state of source and id is %v", state)
		}
		m, e := <-out.got, <-local
		if m.Metadata["ce_source"] != "/test" || m.Metadata["ce_type"] != "out" || m.Metadata["ce_id"] != m.UUID || string(m.Payload) != `{"n":2}` {
			b.Errorf("published: %s %q %q", m.UUID, m.Metadata, m.Payload)
		}
		if e.ID() != m.UUID || e.Source() != "/test" || string(e.Data()) != `{"n":2}` {
			b.Errorf("the local handler got %s", e)
		}
		if err := b.halt(); err != nil {
			b.Error(err)
		}
		if len(out.got) != 0 {
			b.Error("a repetition was applied")
		}
	})
}
