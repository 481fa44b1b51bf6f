package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/store/postgres"
)

const few = 20_000

func relayPart() []benchmark {
	return []benchmark{
		{
			part: "relay", name: "forwarder_20k", says: "Watermill's forwarder: 20k waiting messages into a free sink; p50 and p99 between two publishes",
			run: runForwarder(few),
		},
		{
			part: "relay", name: "relay_20k", says: "headrace: 20k waiting events into a free sink; p50 and p99 between two publishes",
			run: runRelay(few), against: []string{"forwarder_20k"},
		},
	}
}

// waiting is the event that waits in the outbox, with another id each time.
func waiting(n uint64) (id string, payload []byte, err error) {
	id = uuid(n)
	payload, err = json.Marshal(invoiced{OrderID: id, Currency: "EUR", TotalCents: int64(n)})
	return id, payload, err
}

func runRelay(rows int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (figure Figure, err error) {
		rows := a.or(rows)
		st, err := postgres.Open(ctx, l.dsn, postgres.Options{})
		if err != nil {
			return Figure{}, err
		}
		defer func() { err = errors.Join(err, st.Close()) }()
		if err := fill(ctx, st, rows); err != nil {
			return Figure{}, fmt.Errorf("fill the outbox: %w", err)
		}
		out := newSink(rows)
		r, err := relay.New(st, out, relay.Options{})
		if err != nil {
			return Figure{}, err
		}
		if figure, err = l.drain(ctx, r, out, rows); err != nil {
			return Figure{}, err
		}
		if err := out.verify(); err != nil {
			return Figure{}, err
		}
		return figure, check(ctx, st)
	}
}

// drain runs r until the outbox is empty, which is when the last delete has been
// committed.
func (l *lab) drain(ctx context.Context, r *relay.Relay, out *sink, rows int) (figure Figure, err error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	watch := l.startWatch(ctx)
	out.begin()
	go func() { ended <- r.Run(running) }()
	select {
	case <-out.all:
		if err = l.empty(ctx); err == nil {
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
func (l *lab) empty(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		var left bool
		if err := l.db.QueryRowContext(ctx, l.query("outbox_left")).Scan(&left); err != nil {
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
func fill(ctx context.Context, st *postgres.Store, rows int) error {
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
