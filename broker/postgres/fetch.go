package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// fetch takes up to n messages, the oldest first. They are held from then on.
func (b *subscription) fetch(n int) ([]*delivery, error) {
	from, began := b.from(), time.Now()
	statement, args := b.all.get("take"), []any{b.topic, b.o.Group, n, b.o.Lease.Microseconds(), b.holder, from}
	taken, err := ask(b.ctx, b.ask, initTime, func(ctx context.Context, conn *sql.Conn) ([]*delivery, error) {
		rows, err := conn.QueryContext(ctx, statement, args...)
		if err != nil {
			return nil, err
		}
		defer func() { _ = rows.Close() }()
		return scan(rows)
	})
	if err != nil { // what was taken comes again when its lease is over
		return nil, fmt.Errorf("take: %w", err)
	}
	slices.SortFunc(taken, func(x, y *delivery) int { return cmp.Compare(x.id, y.id) })
	b.found(taken, from, time.Since(began))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range taken {
		b.arrive(d)
		b.held[d.id] = d
	}
	return taken, nil
}

const (
	// bottomEvery is how often the queue is read from its bottom, at most; bottomShare is
	// the part of the time that this may take, and bottomLatest how long it waits at most
	// to keep to it.
	bottomEvery  = 100 * time.Millisecond
	bottomShare  = 10
	bottomLatest = 5 * time.Second
)

// from is the id after which to look. What was settled leaves dead rows at the bottom of
// the queue until they are vacuumed, which may be long where somebody holds a snapshot, so
// it is read from the mark. What commits late and what was given back can stand below it.
func (b *subscription) from() int64 {
	if time.Since(b.bottom) > b.bottomRest {
		return 0
	}
	return b.mark
}

// found learns from a look after the id from where the next one may begin: a little
// before what was taken, for those that commit at this moment.
func (b *subscription) found(taken []*delivery, from int64, took time.Duration) {
	if from == 0 {
		b.bottom, b.bottomRest = time.Now(), min(max(bottomEvery, bottomShare*took), bottomLatest)
	}
	if len(taken) > 0 {
		b.mark = taken[0].id - 1
	}
}

func scan(rows *sql.Rows) (taken []*delivery, err error) {
	for rows.Next() {
		var (
			id                       int64
			uuid, orderKey, metadata string
			payload                  []byte
		)
		if err := rows.Scan(&id, &uuid, &orderKey, &metadata, &payload); err != nil {
			return taken, err
		}
		m := message.NewMessage(untext(uuid), payload)
		m.Metadata = unmarshal(metadata)
		taken = append(taken, &delivery{id: id, msg: m, orderKey: untext(orderKey)})
	}
	return taken, rows.Err()
}

// arrive gives d's message its context.
func (b *subscription) arrive(d *delivery) {
	ctx, forget := context.WithCancel(b.ctx)
	d.forget = forget
	d.msg.SetContext(headrace.WithArrival(ctx, headrace.Arrival{
		OrderKey: d.orderKey,
		Coordinates: headrace.Coordinates{
			Broker: "postgres", Topic: b.topic + "@" + strconv.FormatInt(b.made, 10), Position: strconv.FormatInt(d.id, 10),
		},
	}))
}

// unmarshal is total: whatever JSON somebody wrote, it becomes text. What is no object
// stands under "metadata".
func unmarshal(document string) message.Metadata {
	var values map[string]json.RawMessage
	if json.Unmarshal([]byte(document), &values) != nil {
		return message.Metadata{"metadata": document}
	}
	metadata := make(message.Metadata, len(values))
	for name, value := range values {
		var s string
		if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &s) == nil {
			metadata[untext(name)] = untext(s)
		} else {
			metadata[untext(name)] = string(value)
		}
	}
	return metadata
}
