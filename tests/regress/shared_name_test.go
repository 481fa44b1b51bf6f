package regress

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
)

// Two services may share a database and a consumer name, each with handlers of its own.
// Neither touches the other's rows in the backlog: a retry runs when it is due.
//
// Without that a service delayed each row of a handler that it did not have by a minute.
//
//evidence:names
func TestServicesShareAConsumerName(t *testing.T) {
	for how, handle := range map[string]func(c *consumer.Consumer, f consumer.Func[body]){
		"retries":      inBatch.handle,
		"intake":       fromBacklog.handle,
		"leased":       leased.handle,
		"strict order": inBatch.handle,
	} {
		t.Run(how, func(t *testing.T) {
			onEachStore(t, func(f *fixture) { checkSharedName(f, how == "strict order", handle) })
		})
	}
}

func checkSharedName(f *fixture, strict bool, handle func(c *consumer.Consumer, f consumer.Func[body])) {
	const n = 40
	config := f.config()
	config.Strict = strict
	config.Retry = retry.Policy{MaxAttempts: 3, Backoff: retry.Backoff{Initial: 300 * time.Millisecond, Max: 300 * time.Millisecond, Factor: 1}}
	other := config
	other.Source = memsource.New()
	shipping := f.consumer(f.open(), other)
	consumer.Handle(shipping, "orders.shipped", func(context.Context, *headrace.Tx, *headrace.Message[body]) error {
		return errBoom // it has rows in the backlog as well
	})
	for i, id := range series("s", 5) {
		other.Source.(*memsource.Source).Deliver("orders.shipped", id, []byte(`{}`), map[string]string{orderKey: series("k", 5)[i]})
	}
	orders := f.consumer(f.st, config)
	handle(orders, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if m.Attempt == 1 {
			return errBoom
		}
		return insert(ctx, tx, m)
	})
	for _, p := range []*process{f.start(shipping), f.start(orders)} {
		f.eventually("ready", func() bool { return p.Ready() == nil })
	}
	var all []*message.Message
	for i, id := range series("m", n) {
		all = append(all, f.deliverOrdered(id, i, series("k", n)[i]))
	}
	f.acked(all...)
	start := time.Now()
	f.eventually("all are applied", func() bool { return f.count("SELECT count(*) FROM effects") == n })
	// They took a minute and more.
	if took := time.Since(start); took > 30*time.Second {
		f.Errorf("the retries took %s", took)
	}
}
