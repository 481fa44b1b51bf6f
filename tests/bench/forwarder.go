package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	"github.com/ThreeDotsLabs/watermill/message"
)

const forwarderTopic = "forwarder_topic"

// runForwarder measures Watermill's own way to empty an outbox, with its defaults.
// The clock stops at the last publish, when its last commit is still to come.
func runForwarder(rows int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (figure Figure, err error) {
		rows := a.or(rows)
		db, err := l.open(4)
		if err != nil {
			return Figure{}, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		if err := fillForwarder(db, rows); err != nil {
			return Figure{}, fmt.Errorf("fill the forwarder's topic: %w", err)
		}
		if err := l.visible(ctx); err != nil {
			return Figure{}, err
		}
		subscriber, err := wsql.NewSubscriber(db, wsql.SubscriberConfig{
			SchemaAdapter: wsql.DefaultPostgreSQLSchema{}, OffsetsAdapter: wsql.DefaultPostgreSQLOffsetsAdapter{},
		}, watermill.NopLogger{})
		if err != nil {
			return Figure{}, err
		}
		out := newSink(rows)
		f, err := forwarder.NewForwarder(subscriber, out, watermill.NopLogger{}, forwarder.Config{ForwarderTopic: forwarderTopic})
		if err != nil {
			return Figure{}, err
		}
		if figure, err = l.forward(ctx, f, out, rows); err != nil {
			return Figure{}, err
		}
		return figure, out.verify()
	}
}

// forward runs f until all has been published.
func (l *lab) forward(ctx context.Context, f *forwarder.Forwarder, out *sink, rows int) (figure Figure, err error) {
	ended := make(chan error, 1)
	watch := l.startWatch(ctx)
	out.begin()
	go func() { ended <- f.Run(ctx) }()
	select {
	case <-out.all:
		figure = watch.figure(ctx, rows, &out.gaps)
	case <-ctx.Done():
		err = context.Cause(ctx)
	case err := <-ended:
		return Figure{}, errors.Join(errAbandoned, err)
	}
	return figure, errors.Join(err, f.Close(), <-ended)
}

// fillForwarder writes enveloped messages, a thousand in a transaction.
func fillForwarder(db *sql.DB, rows int) error {
	plain, err := wsql.NewPublisher(db, wsql.PublisherConfig{SchemaAdapter: wsql.DefaultPostgreSQLSchema{}}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	publisher := forwarder.NewPublisher(plain, forwarder.PublisherConfig{ForwarderTopic: forwarderTopic})
	const most = 1000
	for done := 0; done < rows; {
		batch := make([]*message.Message, 0, most)
		for ; done < rows && len(batch) < most; done++ {
			id, payload, err := waiting(uint64(done))
			if err != nil {
				return err
			}
			batch = append(batch, message.NewMessage(id, payload))
		}
		if err := publisher.Publish(invoicesTopic, batch...); err != nil {
			return err
		}
	}
	return nil
}

// visible waits until the subscriber may see every row: transactions elsewhere in
// the cluster hold it up, and are not what is measured.
func (l *lab) visible(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var all bool
		if err := l.db.QueryRowContext(ctx, l.query("forwarder_visible")).Scan(&all); err != nil {
			return fmt.Errorf("wait for older transactions: %w", err)
		}
		if all {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for older transactions: %w", context.Cause(ctx))
		}
	}
}
