package publish

import (
	"context"
	"maps"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// NewMessage returns the message of an event, a new one for each publish: a Publisher may
// change the metadata, and an abandoned call may still do so. The message's context is
// ctx with the order key for the sink (headrace.Arrival). t is its trace context, unless
// the event's metadata contain one.
func NewMessage(ctx context.Context, e *headrace.Event, t headrace.TraceContext) *message.Message {
	m := message.NewMessage(e.ID, e.Payload)
	maps.Copy(m.Metadata, e.Metadata)
	if t.Parent != "" {
		// The two belong together: a tracestate of another parent is meaningless.
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

// traceOf is the trace context of e's send: the one that the published message will
// carry, so that a trace of the event's own continues.
func traceOf(e *headrace.Event) headrace.TraceContext {
	if own := headrace.TraceFrom(e.Metadata); own.Parent != "" {
		return own
	}
	return e.Trace
}
