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
	ctx, cancel := context.WithTimeout(b.ctx, initTime)
	defer cancel()
	rows, err := b.o.DB.QueryContext(ctx, b.all.get("take"), b.topic, b.o.Group, n, b.o.Lease.Microseconds(), b.holder, b.from())
	if err != nil {
		return nil, fmt.Errorf("take: %w", err)
	}
	defer func() { _ = rows.Close() }()
	taken, err := b.scan(rows)
	if err != nil { // they come again when their lease is over
		for _, d := range taken {
			d.forget()
		}
		return nil, fmt.Errorf("take: %w", err)
	}
	slices.SortFunc(taken, func(x, y *delivery) int { return cmp.Compare(x.id, y.id) })
	b.mark = 0
	if len(taken) == n {
		b.mark = taken[0].id - 1
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range taken {
		b.held[d.id] = d
	}
	return taken, nil
}

// bottomEvery is how often the queue is read from its bottom.
const bottomEvery = 100 * time.Millisecond

// from is the id after which to look. What was settled leaves dead rows at the bottom of
// the queue until they are vacuumed, so it is read from the mark, to go faster; what
// commits late and what was given back can stand below it.
func (b *subscription) from() int64 {
	if time.Since(b.bottom) > bottomEvery {
		b.mark = 0
	}
	if b.mark == 0 {
		b.bottom = time.Now()
	}
	return b.mark
}

func (b *subscription) scan(rows *sql.Rows) (taken []*delivery, err error) {
	for rows.Next() {
		var (
			id                       int64
			uuid, orderKey, metadata string
			payload                  []byte
		)
		if err := rows.Scan(&id, &uuid, &orderKey, &metadata, &payload); err != nil {
			return taken, err
		}
		m := message.NewMessage(uuid, payload)
		m.Metadata = unmarshal(metadata)
		taken = append(taken, b.delivery(id, m, orderKey))
	}
	return taken, rows.Err()
}

func (b *subscription) delivery(id int64, m *message.Message, orderKey string) *delivery {
	ctx, forget := context.WithCancel(b.ctx)
	m.SetContext(headrace.WithArrival(ctx, headrace.Arrival{
		OrderKey: orderKey,
		Coordinates: headrace.Coordinates{
			Broker: "postgres", Topic: b.topic + "@" + strconv.FormatInt(b.made, 10), Position: strconv.FormatInt(id, 10),
		},
	}))
	return &delivery{id: id, msg: m, forget: forget}
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
			metadata[name] = s
		} else {
			metadata[name] = string(value)
		}
	}
	return metadata
}
