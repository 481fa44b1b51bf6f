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

// fetch takes up to n messages, the oldest first. The subscription then holds them.
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
	if err != nil { // taken messages come again when their lease is over
		return nil, fmt.Errorf("take: %w", err)
	}
	slices.SortFunc(taken, func(x, y *delivery) int { return cmp.Compare(x.id, y.id) })
	b.found(taken, from, time.Since(began))
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range taken {
		b.arrive(d)
		b.held[d.id] = d
		b.bytes.Add(d.size)
	}
	return taken, nil
}

const (
	// bottomEvery is the least time between two reads of the queue from its bottom,
	// bottomShare the inverse of the share of time that they may take, and bottomLatest
	// the longest pause to keep to that share.
	bottomEvery  = 100 * time.Millisecond
	bottomShare  = 10
	bottomLatest = 5 * time.Second
)

// from is the id after which to look. Settled messages leave dead rows at the bottom of
// the queue until vacuum removes them, which may take long while a snapshot exists, so
// reads start at the mark. Messages that commit late or were given back may be below it.
func (b *subscription) from() int64 {
	if time.Since(b.bottom) > b.bottomRest {
		return 0
	}
	return b.mark
}

// found updates the mark after a read: a little below the taken messages, for those that
// commit at this moment.
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
			sent                     time.Time
		)
		if err := rows.Scan(&id, &uuid, &orderKey, &metadata, &payload, &sent); err != nil {
			return taken, err
		}
		m := message.NewMessage(untext(uuid), payload)
		m.Metadata = unmarshal(metadata)
		size := len(uuid) + len(orderKey) + len(metadata) + len(payload)
		taken = append(taken, &delivery{id: id, msg: m, orderKey: untext(orderKey), sent: sent.UTC(), size: size})
	}
	return taken, rows.Err()
}

// arrive sets the context of d's message.
func (b *subscription) arrive(d *delivery) {
	ctx, forget := context.WithCancel(b.ctx)
	d.forget = forget
	d.msg.SetContext(headrace.WithArrival(ctx, headrace.Arrival{
		OrderKey: d.orderKey, Time: d.sent,
		Coordinates: headrace.Coordinates{
			Broker: "postgres", Topic: b.topic + "@" + strconv.FormatInt(b.made, 10), Position: strconv.FormatInt(d.id, 10),
		},
	}))
}

// unmarshal never fails: it turns any JSON into text. A value that is not an object is
// under "metadata".
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
