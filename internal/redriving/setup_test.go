package redriving_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is an engine on a database. Its methods fail the test on an error.
type fixture struct {
	*testing.T
	kind   string
	name   string // of the schema
	ctx    context.Context
	st     store.Store
	engine *redriving.Engine
	// handler is the only one. Its key function finds what keys says of a message id.
	handler *task.Handler
	keys    map[string]string
	spoilt  bool
}

const (
	consumer = "billing"
	handler  = "orders.paid"
	scope    = consumer + "/" + handler
)

// onBoth runs f on a fresh store of each kind, and then the invariants over what f left.
func onBoth(t *testing.T, f func(*fixture)) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) (store.Store, string){"sqlite": openSQLite, "postgres": openPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, schema := open(t)
			on(t, name, schema, st, f)
		})
	}
}

func on(t *testing.T, kind, name string, st store.Store, f func(*fixture)) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	b := &fixture{T: t, kind: kind, name: name, ctx: ctx, st: st, keys: make(map[string]string)}
	b.handler = &task.Handler{Consumer: consumer, Name: handler, Scope: scope, Identify: b.identify}
	b.engine = b.process(st)
	b.start("1", "v1")
	f(b)
	b.check()
}

// process returns the engine of a process on a store.
func (b *fixture) process(st store.Store) *redriving.Engine {
	return &redriving.Engine{Store: st, Consumer: consumer, Handlers: []*task.Handler{b.handler}, Logger: slog.New(slog.DiscardHandler)}
}

func (b *fixture) identify(t *task.Task) {
	t.Bad = inbox.Identify(&t.Delivery, func(d *headrace.Delivery) (string, error) {
		if key := b.keys[d.ID]; key != "" {
			return key, nil
		}
		return "", inbox.ErrAbsent
	}, inbox.Payload(), nil)
}

func openSQLite(t *testing.T) (store.Store, string) {
	st, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "headrace.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st, ""
}

// schema is put in front of a table.
func (b *fixture) schema() string { return `"` + b.name + `".` }

func (b *fixture) check() {
	b.Helper()
	report, err := b.st.(store.Checker).Check(b.ctx)
	b.must(err)
	for _, r := range report.Rules {
		if r.Violations > 0 && !b.spoilt {
			b.Errorf("Check: %+v", r)
		}
	}
	if b.spoilt && report.OK() {
		b.Error("Check finds nothing")
	}
}

func (b *fixture) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *fixture) in(f func(t *txn.Txn)) {
	b.Helper()
	t, err := b.st.Begin(b.ctx)
	b.must(err)
	defer t.Rollback()
	f(t)
	b.must(b.st.Commit(b.ctx, t, nil))
}

// start starts a process of the consumer.
func (b *fixture) start(id, build string) {
	b.Helper()
	b.must(b.st.Operations().Instances.Start(b.ctx, instance.Instance{ID: id, Consumer: consumer, Host: "host-" + id, Build: build, Handlers: []string{handler}}))
}

// beat shows that the process of the engine runs: under load, what a test does between two steps takes
// longer than a process may be silent.
func (b *fixture) beat() {
	b.Helper()
	b.must(b.st.Operations().Instances.Beat(b.ctx, "1", instance.Work{}))
}

// end ends a process in order.
func (b *fixture) end(id string) { b.Helper(); b.must(b.st.Operations().Instances.End(b.ctx, id)) }

// letter returns a letter with what a change does to it.
func letter(key string, change ...func(*dlq.Letter)) dlq.Letter {
	l := dlq.Letter{
		Class: dlq.Permanent, Consumer: consumer, Handler: handler,
		Delivery: headrace.Delivery{Scope: scope, Key: key, Fingerprint: "f-" + key, ID: "id-" + key, Topic: "orders", Payload: []byte(key)},
		Error:    "declined", ErrorFingerprint: "0123456789abcdef", Build: "v0",
	}
	for _, c := range change {
		c(&l)
	}
	return l
}

func strict(orderKey string) func(*dlq.Letter) {
	return func(l *dlq.Letter) { l.Strict, l.Delivery.OrderKey = true, orderKey }
}

func class(c dlq.Class) func(*dlq.Letter) { return func(l *dlq.Letter) { l.Class = c } }

// die writes what the runtime writes when it gives messages up.
func (b *fixture) die(letters ...dlq.Letter) (ids []int64) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		var claims []inbox.Claim
		var dead []inbox.ID
		for _, l := range letters {
			claims, dead = append(claims, inbox.Claim{ID: l.ID(), Fingerprint: l.Delivery.Fingerprint}), append(dead, l.ID())
		}
		_, err := b.st.Inbox().Claim(b.ctx, t, inbox.ClaimRequest{Claims: claims})
		b.must(err)
		_, err = b.st.Inbox().Transition(b.ctx, t, dead, inbox.Done, inbox.Dead)
		b.must(err)
		inserted, err := b.st.Letters().Insert(b.ctx, t, letters)
		b.must(err)
		for _, i := range inserted {
			ids = append(ids, i.LetterID)
		}
	})
	return ids
}

// many returns letters k0000, k0001, …
func many(n int, change ...func(*dlq.Letter)) (letters []dlq.Letter) {
	for i := range n {
		letters = append(letters, letter(fmt.Sprintf("k%04d", i), change...))
	}
	return letters
}

// ready reads what can be worked off.
func (b *fixture) ready() (all []backlog.Item) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		for n := range backlog.Shards {
			items, err := b.st.Backlog().Read(b.ctx, t, backlog.ReadRequest{Consumer: consumer, Shard: n, Limit: 2000, Bytes: 1 << 30, Handlers: []string{handler}})
			b.must(err)
			all = append(all, items...)
		}
	})
	return all
}

// succeed does what the worker does with messages that are applied.
func (b *fixture) succeed(items ...backlog.Item) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		for _, i := range items {
			b.leave(t, i, inbox.Done)
		}
	})
}

func (b *fixture) leave(t *txn.Txn, i backlog.Item, to inbox.State) {
	b.Helper()
	id := inbox.ID{Scope: i.Delivery.Scope, Key: i.Delivery.Key}
	moved, err := b.st.Inbox().Transition(b.ctx, t, []inbox.ID{id}, inbox.Waiting, to)
	if err != nil || len(moved) != 1 {
		b.Fatalf("%s: %v, %v", id.Key, moved, err)
	}
	b.must(b.st.Backlog().Delete(b.ctx, t, []int64{i.RowID}))
}

// fail does what the worker does with messages that fail for the last time.
func (b *fixture) fail(items ...backlog.Item) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		for _, i := range items {
			b.leave(t, i, inbox.Dead)
			l := letter(i.Delivery.Key)
			l.Delivery, l.Strict, l.PreviousID, l.Redrives, l.Build = i.Delivery, i.Strict, i.LetterID, i.Redrives, "v1"
			_, err := b.st.Letters().Insert(b.ctx, t, []dlq.Letter{l})
			b.must(err)
		}
	})
}

// plan plans a redrive of all letters.
func (b *fixture) plan(change ...func(*redriving.Plan)) int64 {
	b.Helper()
	p := redriving.Plan{Kind: job.Redriving, Says: "all", Options: job.DefaultOptions()}
	for _, c := range change {
		c(&p)
	}
	b.beat()
	r, err := b.engine.Plan(b.ctx, p, "ann")
	b.must(err)
	return r.ID
}

// run plans a redrive of all letters, and applies it.
func (b *fixture) run(change ...func(*redriving.Plan)) int64 {
	b.Helper()
	id := b.plan(change...)
	b.beat()
	_, err := b.engine.Apply(b.ctx, redriving.Apply{ID: id}, "bo", "fixed")
	b.must(err)
	return id
}

// step takes a step that must be taken.
func (b *fixture) step(id int64) job.Decision {
	b.Helper()
	b.beat()
	taken, err := b.engine.Step(b.ctx, id)
	b.must(err)
	return taken.Decision
}

func (b *fixture) get(id int64) job.Redrive {
	b.Helper()
	r, err := b.st.Operations().Redrives.Get(b.ctx, id)
	b.must(err)
	return r
}

// outcomes are the states of the letters of a redrive.
func (b *fixture) outcomes(id int64) map[int64]job.Entry {
	b.Helper()
	list, err := b.st.Operations().Redrives.Entries(b.ctx, id, "", 0, 10_000)
	b.must(err)
	all := make(map[int64]job.Entry)
	for _, e := range list {
		all[e.LetterID] = e
	}
	return all
}

func (b *fixture) inboxState(key string) inbox.State {
	b.Helper()
	entries, err := b.st.Inbox().Find(b.ctx, key)
	b.must(err)
	if len(entries) == 0 {
		return ""
	}
	return entries[0].State
}

func (b *fixture) letterState(id int64) dlq.State {
	b.Helper()
	l, err := b.st.Letters().Get(b.ctx, id)
	b.must(err)
	return l.State
}

// refused fails the test unless err is a refusal.
func (b *fixture) refused(err error) string {
	b.Helper()
	if !errors.Is(err, instance.ErrRefused) {
		b.Fatalf("not refused: %v", err)
	}
	return err.Error()
}
