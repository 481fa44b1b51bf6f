package workload

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"github.com/google/uuid"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/tests/torture/broker"
)

// handlers are the functions that children register.
type handlers struct{ at fault.Hook }

func (h handlers) plain(ctx context.Context, tx *headrace.Tx, m *headrace.Message[[]byte]) error {
	return h.apply(ctx, tx, &m.Delivery)
}

// batch says which of the messages failed.
func (h handlers) batch(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[[]byte]) error {
	failed := make(consumer.BatchError)
	for i, m := range ms {
		if err := h.apply(ctx, tx, &m.Delivery); err != nil {
			failed[i] = err
		}
	}
	if len(failed) > 0 {
		return failed
	}
	return nil
}

func (h handlers) leased(_ context.Context, m *headrace.Message[[]byte]) (headrace.Effects, error) {
	return func(ctx context.Context, tx *headrace.Tx) error { return h.apply(ctx, tx, &m.Delivery) }, nil
}

func (h handlers) strict(ctx context.Context, tx *headrace.Tx, m *headrace.Message[[]byte]) error {
	if _, err := tx.ExecContext(ctx, queries["append"], m.Metadata[broker.KeyHeader], m.ID); err != nil {
		return err
	}
	return h.apply(ctx, tx, &m.Delivery)
}

// apply writes the effects of a message, and fails, if it is to, after some of them.
func (h handlers) apply(ctx context.Context, tx *headrace.Tx, d *headrace.Delivery) error {
	amount, err := strconv.ParseInt(d.Metadata[amountHeader], 10, 64)
	if err != nil {
		return retry.Permanent(err)
	}
	if _, err := tx.ExecContext(ctx, queries["insert_effect"], d.ID, d.Topic, amount, Sum(d.Payload, d.Metadata)); err != nil {
		return err
	}
	if err := h.publish(ctx, tx, d, 1); err != nil {
		return err
	}
	if err := h.at(fault.MidHandler); err != nil {
		return err
	}
	if err := fail(ctx, tx, d); err != nil {
		return err
	}
	for n := 2; n <= Events; n++ {
		if err := h.publish(ctx, tx, d, n); err != nil {
			return err
		}
	}
	return nil
}

var errFlaky, errPoison, errIll = errors.New("not this time"), errors.New("never"), errors.New("not before it is cured")

func fail(ctx context.Context, tx *headrace.Tx, d *headrace.Delivery) error {
	switch Kind(d.Metadata[kindHeader]) {
	case Flaky:
		if d.Attempt <= 2 {
			return errFlaky
		}
	case Exhausted:
		return errFlaky
	case Poison:
		return retry.Permanent(errPoison)
	case Curable:
		cured := 0
		if err := tx.QueryRowContext(ctx, queries["is_cured"], d.ID).Scan(&cured); err != nil {
			return err
		}
		if cured == 0 {
			return retry.Permanent(errIll)
		}
	case Killer:
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}
	return nil
}

// publish publishes the nth event of a message, under a new id in each run: one of a run
// that was rolled back shows.
func (h handlers) publish(ctx context.Context, tx *headrace.Tx, d *headrace.Delivery, n int) error {
	e := headrace.Event{
		ID: uuid.NewString(), Topic: OutTopic, OrderKey: d.OrderKey, Payload: fmt.Appendf(nil, "%s %d", d.ID, n),
		Metadata: map[string]string{causeHeader: d.ID},
	}
	if _, err := tx.ExecContext(ctx, queries["insert_emitted"], e.ID, d.ID, Sum(e.Payload, e.Metadata)); err != nil {
		return err
	}
	return tx.Publish(e)
}

// register gives the consumers their handlers.
func (h handlers) register(main, strict *consumer.Consumer) {
	consumer.Handle(main, Plain, h.plain)
	consumer.HandleBatch(main, Batch, h.batch)
	consumer.HandleLeased(main, Leased, h.leased, consumer.Lease(leaseTime), consumer.Timeout(workTime))
	consumer.Handle(strict, Strict, h.strict)
}
