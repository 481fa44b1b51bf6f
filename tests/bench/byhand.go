package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
)

func byhandPart(d driver) []benchmark {
	const says = "by hand: one transaction a message, inbox, effect and event, %d in flight"
	part := []benchmark{
		{part: "byhand", name: "byhand", says: fmt.Sprintf(says, 16), run: runByhand(d, 16)},
		{part: "byhand", name: "byhand_64", says: fmt.Sprintf(says, 64), run: runByhand(d, 64), against: []string{"byhand"}},
		{part: "byhand", name: "byhand_1", says: fmt.Sprintf(says, 1), run: runByhand(d, 1)},
	}
	return d.named(part)
}

// byhand is what a careful team writes on Watermill today.
type byhand struct {
	db            *sql.DB
	take, invoice string

	mu     sync.Mutex
	failed error // the first
}

func runByhand(d driver, inFlight int) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		db, err := l.openWith(d, inFlight)
		if err != nil {
			return Figure{}, err
		}
		defer func() { _ = db.Close() }()
		h := &byhand{db: db, take: l.query("take"), invoice: l.query("invoice")}
		src := newSource(inFlight, newMessage)
		messages, err := src.Subscribe(ctx, ordersTopic)
		if err != nil {
			return Figure{}, err
		}
		stop := make(chan struct{})
		var workers sync.WaitGroup
		for range inFlight {
			workers.Go(func() { h.work(messages, stop) })
		}
		figure, err := l.load(ctx, src, a, nil)
		close(stop)
		workers.Wait()
		if err := errors.Join(h.failed, err); err != nil {
			return Figure{}, err
		}
		return figure, l.verify(ctx, "count_by_hand", src.delivered())
	}
}

func (h *byhand) work(messages <-chan *message.Message, stop <-chan struct{}) {
	for {
		select {
		case m := <-messages:
			if err := h.handle(m); err != nil {
				h.fail(err)
				m.Nack()
				continue
			}
			m.Ack()
		case <-stop:
			return
		}
	}
}

func (h *byhand) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil {
		h.failed = err
	}
}

func (h *byhand) handle(m *message.Message) error {
	var o order
	if err := json.Unmarshal(m.Payload, &o); err != nil {
		return err
	}
	ctx := m.Context()
	tx, err := h.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	result, err := tx.ExecContext(ctx, h.take, "billing", m.UUID)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err // handled before
	}
	if _, err := tx.ExecContext(ctx, h.invoice, o.ID, o.Currency, o.TotalCents); err != nil {
		return err
	}
	// A publisher writes into one transaction, so each needs its own.
	publisher, err := wsql.NewPublisher(tx, wsql.PublisherConfig{SchemaAdapter: wsql.DefaultPostgreSQLSchema{}}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	event, err := json.Marshal(invoicedFor(&o))
	if err != nil {
		return err
	}
	if err := publisher.Publish(invoicesTopic, message.NewMessage(watermill.NewUUID(), event)); err != nil {
		return err
	}
	return tx.Commit()
}
