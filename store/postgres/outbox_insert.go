package postgres

import (
	"context"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/outbox"
)

// inserts are the statements that write events: one for the usual ones, one where some
// are delayed.
type inserts struct{ ready, delayed string }

// Insert implements outbox.Store.
func (s *outboxStore) Insert(ctx context.Context, q headrace.Execer, rows []outbox.Row) error {
	if len(rows) == 0 {
		return nil
	}
	query, args, err := s.insert.of(rows, "")
	if err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	if _, err := q.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// of returns the statement that writes rows, with its arguments. id is the
// transaction's, or "" for any. What a published message carries is never cleaned: it is
// refused.
func (s inserts) of(rows []outbox.Row, id string) (string, []any, error) {
	type row = outbox.Row
	var w written
	if err := w.look(rows); err != nil {
		return "", nil, err
	}
	all := w.bodies(rows)
	some := func(any bool, field func(*row) string) string {
		if !any {
			return "{}"
		}
		return texts(rows, field)
	}
	args := make([]any, 0, 13)
	args = append(args, all, id, w.topic,
		integers(rows, func(r *row) int64 { return int64(r.Shard) }),
		texts(rows, func(r *row) string { return r.Event.ID }),
		integers(w.places, func(p *body) int64 { return int64(p.at) }),
		integers(w.places, func(p *body) int64 { return int64(p.payload) }),
		some(w.topics, func(r *row) string { return r.Event.Topic }),
		some(w.orders, func(r *row) string { return r.Event.OrderKey }))
	if w.metadata {
		args = append(args, integers(w.places, func(p *body) int64 { return int64(p.metadata) }))
	} else {
		args = append(args, "{}")
	}
	args = append(args,
		some(w.traces, func(r *row) string { return encode.Text(r.Event.Trace.Parent, maxTrace) }),
		some(w.traces, func(r *row) string { return encode.Text(r.Event.Trace.State, maxTrace) }))
	if !w.delays {
		return s.ready, args, nil
	}
	return s.delayed, append(args, integers(rows, func(r *row) int64 { return max(micros(r.Event.Delay), 0) })), nil
}

// written is what events have in common and what not.
type written struct {
	topic                                    string
	topics, orders, metadata, traces, delays bool
	size                                     int
	places                                   []body
}

// body is where an event stands in the bytes of all: from at, counted from 1, its
// payload, and behind that its metadata.
type body struct{ at, payload, metadata int }

func (w *written) look(rows []outbox.Row) error {
	for i := range rows {
		e := &rows[i].Event
		if err := identity(e.ID, e.Topic, e.OrderKey); err != nil {
			return fmt.Errorf("%w: ID, Topic or OrderKey: %w", headrace.ErrInvalidEvent, err)
		}
		if i == 0 {
			w.topic = e.Topic
		}
		w.topics = w.topics || e.Topic != w.topic
		w.orders = w.orders || e.OrderKey != ""
		w.metadata = w.metadata || len(e.Metadata) > 0
		w.traces = w.traces || e.Trace != (headrace.TraceContext{})
		w.delays = w.delays || e.Delay > 0
		w.size += len(e.Payload)
	}
	return nil
}

// bodies joins the payloads, and the metadata where there is any.
func (w *written) bodies(rows []outbox.Row) []byte {
	all := make([]byte, 0, w.size)
	w.places = make([]body, len(rows))
	for i := range rows {
		p, e := &w.places[i], &rows[i].Event
		p.at, p.payload = len(all)+1, len(e.Payload)
		all = append(all, e.Payload...)
		if w.metadata {
			all = append(all, encode.Metadata(e.Metadata)...)
			p.metadata = len(all) + 1 - p.at - p.payload
		}
	}
	return all
}
