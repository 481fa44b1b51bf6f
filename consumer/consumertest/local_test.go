package consumertest_test

import (
	"context"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
)

// localOnly wires a consumer without a broker: its handler publishes an event for another
// consumer, which runs beside it or not.
func localOnly(beside bool) consumertest.Wire {
	return func(p *consumertest.Process) (*consumer.Consumer, error) {
		c, err := consumer.New("billing", p.Store, consumer.Config{Logger: p.Logger, Retry: policy})
		if err != nil {
			return nil, err
		}
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
			if err := invoice(ctx, tx, m); err != nil {
				return err
			}
			return tx.Publish(headrace.Event{Topic: "booked", Value: m.Body})
		}, consumer.Local())
		other, err := consumer.New("ledger", p.Store, consumer.Config{Logger: p.Logger, Retry: policy})
		if err != nil || !beside {
			return c, err
		}
		consumer.Handle(other, "booked", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", "booked-"+m.Body.ID, m.Body.Total)
			return err
		}, consumer.Local())
		p.Beside = []*consumer.Consumer{other}
		return c, nil
	}
}

// A consumer without a Source and a Sink comes to rest with its effects there, and waits
// for no consumer that does not run.
func TestLocalHandlersAlone(t *testing.T) {
	for name, beside := range map[string]bool{"alone": false, "beside another": true} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db consumertest.Database) {
				k := kit(t, db, localOnly(beside))
				k.CrashAt(consumertest.BeforeCommit)
				k.Publish(headrace.Event{ID: "e1", Topic: topic, Value: order{"1", 10}, Local: true})
				k.Settle()
				k.Publish(headrace.Event{ID: "e2", Topic: topic, Value: order{"2", 10}})
				k.Settle()
				for _, id := range []string{"1", "2"} {
					booked := 0
					if beside {
						booked = 1
					}
					if n, more := k.Count(invoiced, id), k.Count(invoiced, "booked-"+id); n != 1 || more != booked {
						t.Errorf("order %s: %d effects, and %d of the other consumer, want %d", id, n, more, booked)
					}
				}
			})
		})
	}
}
