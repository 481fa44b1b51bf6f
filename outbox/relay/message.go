package relay

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// newMessage returns the message of an event, anew for each publish: a Publisher
// may change the metadata, and one that was left behind may still be at it. ctx is
// its context, to which the order key is added for the sink (headrace.Arrival); t the
// trace context that it carries, unless the event's metadata say one.
func newMessage(ctx context.Context, e *headrace.Event, t headrace.TraceContext) *message.Message {
	m := message.NewMessage(e.ID, e.Payload)
	for name, value := range e.Metadata {
		m.Metadata[name] = value
	}
	if t.Parent != "" {
		// The two belong together: a tracestate of another parent is noise.
		if _, has := m.Metadata[headrace.TraceParentHeader]; !has {
			m.Metadata[headrace.TraceParentHeader] = t.Parent
			delete(m.Metadata, headrace.TraceStateHeader)
			if t.State != "" {
				m.Metadata[headrace.TraceStateHeader] = t.State
			}
		}
	}
	if e.OrderKey != "" {
		a := headrace.ArrivalFrom(ctx)
		a.OrderKey = e.OrderKey
		ctx = headrace.WithArrival(ctx, a)
	}
	m.SetContext(ctx)
	return m
}
