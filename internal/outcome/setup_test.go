package outcome_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a recorder on a database.
type fixture struct {
	*enginetest.Fixture
	r *outcome.Recorder
}

func onEachStore(t *testing.T, f func(*fixture)) {
	enginetest.OnEachStore(t, func(e *enginetest.Fixture) { f(&fixture{e, enginetest.Recorder(e.Store)}) })
}

// handler has three attempts, of which two follow at once.
func handler(name string) *task.Handler {
	h := enginetest.Handler(name, nil)
	h.Policy = enginetest.Attempts(3)
	return h
}

// live is a delivery of h that is claimed in t.
func (f *fixture) live(t *txn.Txn, h *task.Handler, key string) *task.Task {
	f.Helper()
	one := &task.Task{Handler: h, Delivery: enginetest.Delivery(h, key, "")}
	claimed, err := f.Store.Inbox().Claim(f.Context(), t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: one.ID(), Fingerprint: "f"}}})
	if err != nil || claimed[0].Result != inbox.Won {
		f.Fatalf("%s: %+v, %v", key, claimed, err)
	}
	return one
}

// record records what became of messages that do claims, in one commit.
func (f *fixture) record(do func(t *txn.Txn) outcome.Batch) (copies []outbox.Row) {
	f.Helper()
	f.In(func(t *txn.Txn) (err error) {
		copies, err = f.r.Record(f.Context(), t, do(t))
		return err
	})
	return copies
}

// fails records one failure of a delivery, and returns it.
func (f *fixture) fails(h *task.Handler, key string, kind outcome.Kind, err error) *outcome.Failure {
	f.Helper()
	failure := &outcome.Failure{Kind: kind, Err: err}
	f.record(func(t *txn.Txn) outcome.Batch {
		failure.Task = f.live(t, h, key)
		return outcome.Batch{Failed: []*outcome.Failure{failure}}
	})
	return failure
}

// put takes messages of an order key into the backlog.
func (f *fixture) put(h *task.Handler, orderKey string, keys ...string) {
	f.Helper()
	for _, key := range keys {
		f.In(func(t *txn.Txn) error {
			item := backlog.Item{Consumer: h.Consumer, Handler: h.Name, Delivery: enginetest.Delivery(h, key, orderKey), Strict: h.Strict}
			_, err := f.r.Intake(f.Context(), t, []outcome.Message{{Item: item}}, outcome.Limits{})
			return err
		})
	}
}

// rows are the ready rows of an order key, claimed in t.
func (f *fixture) rows(t *txn.Txn, h *task.Handler, orderKey string) []*task.Task {
	f.Helper()
	ctx, store := f.Context(), f.Store.Backlog()
	if ok, err := store.LockShard(ctx, t, h.Consumer, shard.Of(orderKey), txn.Limits{}); !ok || err != nil {
		f.Fatal(ok, err)
	}
	items, err := store.Read(ctx, t, backlog.ReadRequest{
		Consumer: h.Consumer, Shard: shard.Of(orderKey), Limit: 100, Bytes: 1 << 20, Handlers: []string{h.Name},
	})
	if err != nil {
		f.Fatal(err)
	}
	var tasks []*task.Task
	for i := range items {
		if items[i].Handler == h.Name {
			tasks = append(tasks, &task.Task{Handler: h, Delivery: items[i].Delivery, Item: &items[i], Reruns: items[i].Reruns})
		}
	}
	moved, err := f.Store.Inbox().Transition(ctx, t, task.IDs(tasks), inbox.Waiting, inbox.Done)
	if err != nil || len(moved) != len(tasks) {
		f.Fatalf("%d of %d rows, %v", len(moved), len(tasks), err)
	}
	return tasks
}

// visit records what becomes of the ready rows of an order key: those of fails fail, and
// the others are applied or, of strict order, held back.
func (f *fixture) visit(h *task.Handler, orderKey string, fails map[string]error) (b outcome.Batch) {
	f.Helper()
	f.record(func(t *txn.Txn) outcome.Batch {
		held := false
		for _, one := range f.rows(t, h, orderKey) {
			switch err := fails[one.Delivery.Key]; {
			case held:
				b.Failed = append(b.Failed, &outcome.Failure{Task: one, Kind: outcome.HeldBack})
			case err != nil:
				b.Failed = append(b.Failed, &outcome.Failure{Task: one, Err: err})
				held = h.Strict
			default:
				b.Applied = append(b.Applied, one)
			}
		}
		return b
	})
	return b
}

func (f *fixture) depth() backlog.Depth {
	f.Helper()
	d, err := f.Store.Backlog().Depth(f.Context(), enginetest.Consumer)
	if err != nil {
		f.Fatal(err)
	}
	d.Oldest = 0
	return d
}

// copyTopic has copies made of dead letters.
func copyTopic(topic string) string { return topic + ".dead" }
