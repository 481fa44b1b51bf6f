package regress

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
)

// In strict order m1 is applied before m2 of the same order key, even if m2 comes to
// another process while the first run of m1 fails in this one.
//
// Without that no process had the order key between the rollback of the failed run and
// the record of the failure, and the other process applied m2 before m1.
//
//evidence:strict
func TestStrictOrderAcrossProcesses(t *testing.T) {
	t.Parallel()
	for how, policy := range map[string]retry.Policy{
		"immediate retry": {MaxAttempts: 3, Immediate: 2},
		"delayed retry":   {MaxAttempts: 3, Backoff: retry.Backoff{Initial: 100 * time.Millisecond}},
	} {
		t.Run(how, func(t *testing.T) {
			onEachStore(t, func(f *fixture) { checkStrictOrder(f, policy) })
		})
	}
}

func checkStrictOrder(f *fixture, policy retry.Policy) {
	const keys = 6
	var seen runs
	begun, second := make(chan struct{}, keys), make(chan *message.Message, keys)
	handler := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		key := m.Metadata[orderKey]
		if m.ID == key+"-m1" && seen.next(m.ID) == 1 {
			begun <- struct{}{}
			select {
			case two := <-second: // the other process takes it now, or waits for this transaction
				select {
				case <-two.Acked():
				case <-time.After(300 * time.Millisecond):
				}
			case <-ctx.Done():
			}
			return errBoom
		}
		if m.ID == key+"-m2" {
			var applied int
			if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM effects WHERE msg = $1", key+"-m1").Scan(&applied); err != nil {
				return err
			}
			if applied != 1 {
				f.Errorf("%s was run while m1 was not applied", m.ID)
			}
		}
		return insert(ctx, tx, m)
	}
	config := f.config()
	config.Strict, config.Retry = true, policy
	here := f.consumer(f.st, config)
	consumer.Handle(here, topic, handler)
	config.Source = memsource.New()
	there := f.consumer(f.open(), config)
	consumer.Handle(there, topic, handler)
	for _, p := range []*process{f.start(here), f.start(there)} {
		f.eventually("ready", func() bool { return p.Ready() == nil })
	}
	for i := range keys {
		key := fmt.Sprint("key", i)
		one := f.deliverOrdered(key+"-m1", 1, key)
		f.await("m1 runs", begun)
		two := config.Source.(*memsource.Source).Deliver(topic, key+"-m2", []byte(`{"n":2}`), map[string]string{orderKey: key})
		second <- two
		f.acked(one, two)
		f.eventually("both are applied", func() bool { return f.effects(key+"-m1") == 1 && f.effects(key+"-m2") == 1 })
	}
	f.noLetters()
}
