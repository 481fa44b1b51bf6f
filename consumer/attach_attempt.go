package consumer

import (
	"context"
	"reflect"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/chain"
	"github.com/headrace/headrace/internal/group"
	"github.com/headrace/headrace/internal/routed"
)

// attempts runs a Router's handler.
type attempts struct {
	a    *attachment
	name string
	// f is the handler as it was registered, in the middlewares that Attach was given.
	f message.HandlerFunc
	// looked counts runs up to looks, and sound says that one entered the handler and
	// ended after it: see trial.
	looked atomic.Int64
	sound  atomic.Bool
}

// run is group.Handler.Run: f gets a message of its own, and what it returns goes into
// the outbox with the transaction.
func (h *attempts) run(ctx context.Context, tx *headrace.Tx, inputs []group.Input) (err error) {
	if err := h.a.refused(); err != nil {
		return err
	}
	defer func() { // what was found while it ran counts more than how it ended
		if wrong := h.a.refused(); wrong != nil {
			_ = recover()
			err = wrong
		}
	}()
	d := inputs[0].Delivery
	ctx = headrace.WithTx(ctx, tx)
	if message.HandlerNameFromCtx(ctx) == "" { // from the backlog
		ctx = routerValues{headrace.WithCoordinates(ctx, d.Coordinates), h.name, d.Topic, d.ReplyTopic}
	}
	ctx, _, _ = chain.Enter(ctx, h.name, chain.Attached) // dlq, retry and inbox.Middleware are refused inside
	t := h.begin(ctx, tx)
	defer t.cancel()
	m := routed.Copy(t, &message.Message{UUID: d.ID, Payload: d.Payload, Metadata: d.Metadata})
	produced, err := routed.Call(h.f, m)
	if err = t.end(err); err != nil {
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
