package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/store"
)

const few = 20_000

func relayPart() []benchmark {
	const says = "headrace: %s waiting events into a free sink; p50 and p99 between two publishes"
	part := []benchmark{{
		part: "relay", name: "forwarder_20k", says: "Watermill's forwarder: 20k waiting messages into a free sink; p50 and p99 between two publishes",
		run: runForwarder(few),
	}}
	for _, b := range []benchmark{
		{name: "relay_20k", says: fmt.Sprintf(says, "20k"), run: runRelay(few, false), against: []string{"forwarder_20k"}},
		{name: "relay_1m", says: fmt.Sprintf(says, "1M"), run: runRelay(1_000_000, false), against: []string{"relay_20k"}},
		{name: "relay_300k", says: fmt.Sprintf(says, "300k"), run: runRelay(300_000, false), against: []string{"relay_20k"}},
		{
			name: "relay_snapshot", says: fmt.Sprintf(says, "300k") + "; a snapshot from before they came is open all the time",
			run: runRelay(300_000, true), against: []string{"relay_300k"},
		},
	} {
		b.part = "relay"
		part = append(part, b)
	}
	return part
}

// waiting is the event that waits in the outbox, with another id each time.
func waiting(n uint64) (id string, payload []byte, err error) {
	id = uuid(n)
	payload, err = json.Marshal(invoiced{OrderID: id, Currency: "EUR", TotalCents: int64(n)})
	return id, payload, err
}

func runRelay(rows int, snapshot bool) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (figure Figure, err error) {
		if snapshot {
			release, err := l.snapshot(ctx)
			if err != nil {
				return Figure{}, err
			}
			defer release()
		}
		return l.relayed(ctx, a.or(rows), l.openStore, l.empty)
	}
}

// relayed measures how fast a relay empties the outbox of a store. empty returns
// when nothing is left.
func (l *lab) relayed(ctx context.Context, rows int, open func(context.Context) (opened, error), empty func(context.Context) error) (figure Figure, err error) {
	st, err := open(ctx)
	if err != nil {
		return Figure{}, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := fill(ctx, st, rows); err != nil {
		return Figure{}, fmt.Errorf("fill the outbox: %w", err)
	}
	out := newSink(rows)
	r, err := relay.New(st, out, relay.Options{SinkID: "bench", Logger: l.config.Logger})
	if err != nil {
		return Figure{}, err
	}
	if figure, err = l.drain(ctx, r, out, rows, empty); err != nil {
		return Figure{}, err
	}
	if err := out.verify(); err != nil {
		return Figure{}, err
	}
	return figure, check(ctx, st)
}

// snapshot opens a transaction that sees the database as it is now, which keeps what
// is deleted later from being removed, until release is called.
func (l *lab) snapshot(ctx context.Context) (release func(), err error) {
	tx, err := l.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("open a snapshot: %w", err)
	}
	var left bool
	if err := tx.QueryRowContext(ctx, l.query("outbox_left")).Scan(&left); err != nil {
		return nil, errors.Join(fmt.Errorf("open a snapshot: %w", err), tx.Rollback())
	}
	return func() { _ = tx.Rollback() }, nil
}

// drain runs r until the outbox is empty, which is when the last delete has been
// committed.
func (l *lab) drain(ctx context.Context, r *relay.Relay, out *sink, rows int, empty func(context.Context) error) (figure Figure, err error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	watch := l.startWatch(ctx)
	out.begin()
	go func() { ended <- r.Run(running) }()
	select {
	case <-out.all:
		if err = empty(ctx); err == nil {
			figure = watch.figure(ctx, rows, &out.gaps)
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	case err := <-ended:
		return Figure{}, errors.Join(errAbandoned, err)
	}
	stop()
	return figure, errors.Join(err, <-ended)
}

// empty waits until nothing is left in the outbox.
func (l *lab) empty(ctx context.Context) error { return awaitEmpty(ctx, l.db, l.query("outbox_left")) }

func awaitEmpty(ctx context.Context, db *sql.DB, query string) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		var left bool
		if err := db.QueryRowContext(ctx, query).Scan(&left); err != nil {
			return fmt.Errorf("wait for an empty outbox: %w", err)
		}
		if !left {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for an empty outbox: %w", context.Cause(ctx))
		}
	}
}

// fill writes rows into the outbox, a thousand in a transaction.
func fill(ctx context.Context, st store.Store, rows int) error {
	const most = 1000
	for done := 0; done < rows; {
		batch := make([]outbox.Row, 0, most)
		for ; done < rows && len(batch) < most; done++ {
			id, payload, err := waiting(uint64(done))
			if err != nil {
				return err
			}
			batch = append(batch, outbox.RowOf(headrace.Event{ID: id, Topic: invoicesTopic, Payload: payload}))
		}
		t, err := st.Begin(ctx)
		if err != nil {
			return err
		}
		if err := st.Commit(ctx, t, batch); err != nil {
			return err
		}
	}
	return nil
}
