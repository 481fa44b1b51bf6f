package consumer

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/group"
	"github.com/headrace/headrace/internal/routed"
)

// errNacked is the failure of a handler that gave its message back and returned nil.
var errNacked = errors.New("the handler called Nack on its message and returned no error")

// attempts runs a Router's handler.
type attempts struct {
	name string
	f    message.HandlerFunc
}

// run is group.Handler.Run: f gets a message of its own, and what it returns goes into
// the outbox with the transaction.
func (h attempts) run(ctx context.Context, tx *headrace.Tx, inputs []group.Input) error {
	d := inputs[0].Delivery
	ctx = headrace.WithTx(ctx, tx)
	if message.HandlerNameFromCtx(ctx) == "" { // from the backlog
		ctx = routerValues{headrace.WithCoordinates(ctx, d.Coordinates), h.name, d.Topic, d.ReplyTopic}
	}
	m := routed.Copy(ctx, &message.Message{UUID: d.ID, Payload: d.Payload, Metadata: d.Metadata})
	produced, err := h.f(m)
	if err != nil {
		return err
	}
	select {
	case <-m.Nacked():
		return errNacked
	default:
	}
	if len(produced) == 0 {
		return nil
	}
	if d.ReplyTopic == "" {
		return fmt.Errorf("%w: the handler %q returned %d messages, but has no publish topic that an event may have: give AddHandler one, or publish by headrace.TxFrom",
			message.ErrOutputInNoPublisherHandler, h.name, len(produced))
	}
	return publish(tx, d.ReplyTopic, produced)
}

// publish writes what a handler returned into the outbox.
func publish(tx *headrace.Tx, topic string, produced []*message.Message) error {
	events := make([]headrace.Event, 0, len(produced))
	for i, p := range produced {
		if p == nil {
			return fmt.Errorf("message #%d that the handler returned is nil", i)
		}
		e := headrace.Event{ID: p.UUID, Topic: topic, Payload: p.Payload, Metadata: p.Metadata}
		if e.Payload == nil {
			e.Payload = []byte{}
		}
		events = append(events, e)
	}
	return tx.Publish(events...)
}

// replyTopic is where the Router would publish what the handler of m returns; empty
// where no event may have that topic, since stores would not keep it as it is.
func replyTopic(m *message.Message) string {
	topic := message.PublishTopicFromCtx(m.Context())
	if _, err := (headrace.Event{Topic: topic, Payload: []byte{}}).Encode(nil); err != nil {
		return ""
	}
	return topic
}

// routerValues has what a Router tells handlers in a message's context, for messages
// that come from the backlog and not through the Router. Watermill does not export the
// keys: they are known by the name of their type.
type routerValues struct {
	context.Context
	handler, subscribe, publish string
}

// routerKey is the type of Watermill's keys.
const routerKey, routerPackage = "ctxKey", "github.com/ThreeDotsLabs/watermill/message"

// Value implements context.Context.
func (v routerValues) Value(key any) any {
	if t := reflect.TypeOf(key); t != nil && t.Kind() == reflect.String && t.Name() == routerKey && t.PkgPath() == routerPackage {
		switch reflect.ValueOf(key).String() {
		case "handler_name":
			return v.handler
		case "subscribe_topic":
			return v.subscribe
		case "publish_topic":
			return v.publish
		}
	}
	return v.Context.Value(key)
}
