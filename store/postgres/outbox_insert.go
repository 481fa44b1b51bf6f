package postgres

import (
	"context"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/internal/sqlstore"
	"github.com/headrace/headrace/outbox"
)

// outboxStore implements store.Outbox.
type outboxStore struct {
	*sqlstore.Outbox
	insert inserts
}

// inserts are the statements that write events: one for a single event, one for several
// without delays, one if some events are delayed. outbox is the name of the outbox that
// they write to; copies for subscriptions go onto lines beside it.
type inserts struct{ outbox, one, ready, delayed string }

func newOutboxStore(shared *sqlstore.Outbox, insert inserts) *outboxStore {
	insert.outbox = shared.Name()
	return &outboxStore{shared, insert}
}

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

// of returns the statement that writes rows, with its arguments. id is the transaction's,
// or "" for any. It never cleans the texts of a published message: it returns an error
// for invalid ones.
func (s inserts) of(rows []outbox.Row, id string) (string, []any, error) {
	type row = outbox.Row
	var w written
	if err := w.look(rows); err != nil {
		return "", nil, err
	}
	if len(rows) == 1 && !w.delays {
		return s.one, s.ofOne(&rows[0], id), nil
	}
	all := w.bodies(rows)
	some := func(any bool, field func(*row) string) string {
		if !any {
			return "{}"
		}
		return texts(rows, field)
	}
	metadata, locals := "{}", "{}"
	if w.metadata {
		metadata = integers(w.places, func(p *body) int64 { return int64(p.metadata) })
	}
	if w.locals {
		locals = integers(rows, func(r *row) int64 {
			if r.Event.Local {
				return 1
			}
			return 0
		})
	}
	args := []any{
		all, id, w.topic,
		integers(rows, func(r *row) int64 { return int64(r.Shard) }),
		texts(rows, func(r *row) string { return r.Event.ID }),
		integers(w.places, func(p *body) int64 { return int64(p.at) }),
		integers(w.places, func(p *body) int64 { return int64(p.payload) }),
		some(w.topics, func(r *row) string { return r.Event.Topic }),
		some(w.orders, func(r *row) string { return r.Event.OrderKey }),
		metadata,
		some(w.traces, func(r *row) string { return sqlrun.Trace(r.Event.Trace.Parent) }),
		some(w.traces, func(r *row) string { return sqlrun.Trace(r.Event.Trace.State) }),
		s.outbox, locals,
	}
	if !w.delays {
		return s.ready, args, nil
	}
	return s.delayed, append(args, integers(rows, func(r *row) int64 { return max(sqlrun.Micros(r.Event.Delay), 0) })), nil
}

// ofOne returns the arguments of the statement for a single event.
func (s inserts) ofOne(r *outbox.Row, id string) []any {
	e := &r.Event
	var payload any // NULL for a tombstone
	if e.Payload != nil {
		payload = e.Payload
	}
	return []any{
		s.outbox, id, int64(r.Shard), payload, e.ID, e.Topic, e.OrderKey, encode.Metadata(e.Metadata),
		sqlrun.Trace(e.Trace.Parent), sqlrun.Trace(e.Trace.State), e.Local,
	}
}

// written says which fields the events share.
type written struct {
	topic                                            string
	topics, orders, metadata, traces, delays, locals bool
	size                                             int
	places                                           []body
}

// body is the position of an event in the joined bytes: its payload begins at at, counted
// from 1, and its metadata follows.
type body struct{ at, payload, metadata int }

// tombstone stands for the size of a payload that is nil.
const tombstone = -1

func (w *written) look(rows []outbox.Row) error {
	for i := range rows {
		e := &rows[i].Event
		if err := sqlrun.Identity(e.ID, e.Topic, e.OrderKey); err != nil {
			return fmt.Errorf("%w: ID, Topic or OrderKey: %w", headrace.ErrInvalidEvent, err)
		}
		if s := rows[i].Shard; s < 0 || s >= outbox.Shards {
			return fmt.Errorf("shard %d of %d", s, outbox.Shards)
		}
		if i == 0 {
			w.topic = e.Topic
		}
		w.topics = w.topics || e.Topic != w.topic
		w.orders = w.orders || e.OrderKey != ""
		w.metadata = w.metadata || len(e.Metadata) > 0
		w.traces = w.traces || e.Trace != (headrace.TraceContext{})
		w.delays = w.delays || e.Delay > 0
		w.locals = w.locals || e.Local
		w.size += len(e.Payload)
	}
	return nil
}

// bodies joins the payloads, and the metadata if there is any.
func (w *written) bodies(rows []outbox.Row) []byte {
	all := make([]byte, 0, w.size)
	w.places = make([]body, len(rows))
	for i := range rows {
		p, e := &w.places[i], &rows[i].Event
		p.at, p.payload = len(all)+1, len(e.Payload)
		if all = append(all, e.Payload...); e.Payload == nil {
			p.payload = tombstone
		}
		if w.metadata {
			all = append(all, encode.Metadata(e.Metadata)...)
			p.metadata = len(all) + 1 - p.at - len(e.Payload)
		}
	}
	return all
}
