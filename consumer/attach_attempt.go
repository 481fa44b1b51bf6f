package consumer

import (
	"context"
	"reflect"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/group"
	"github.com/headrace/headrace/internal/routed"
)

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
	produced, err := routed.Call(h.f, m)
	if err != nil {
		return err
	}
	return routed.Publish(tx, d.ReplyTopic, produced)
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
