package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lib/pq"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// Opening never changes the schema, and says what to run. INVARIANTS 3: 60.
//
//evidence:schema
func TestOpenChecksTheSchema(t *testing.T) {
	for _, c := range []struct{ name, spoil, says string }{
		{"left behind", "UPDATE %s.headrace_meta SET version = 99, readable_from = 99", "newer build"},
		{"without a version", "UPDATE %s.headrace_meta SET version = 0", "drop the tables headrace_*"},
		{"without its row", "DELETE FROM %s.headrace_meta", "drop the tables headrace_*"},
		{"dropped", "DROP TABLE %s.headrace_meta", "drop the tables headrace_*"},
		{"of another pre-release", "ALTER TABLE %s.headrace_meta DROP COLUMN fingerprint", "drop the tables headrace_*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "open", "", postgres.Options{})
			b.exec(fmt.Sprintf(c.spoil, b.schema))
			_, err := postgres.Open(t.Context(), b.dsn, postgres.Options{Schema: b.schema})
			if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Open: %v", err)
			}
			if _, err := postgres.New(t.Context(), b.db, postgres.Options{Schema: b.schema}); !errors.Is(err, store.ErrSchema) {
				t.Errorf("New: %v", err)
			}
			s := open(t, b.dsn, postgres.Options{Schema: b.schema, Unchecked: true})
			list, err := s.Migrations(t.Context())
			if !errors.Is(err, store.ErrSchema) || len(list) == 0 {
				t.Errorf("Unchecked: %v, %v", list, err)
			}
		})
	}
}

func TestOpenWithoutTables(t *testing.T) {
	dsn, schema := pgtest.New(t)
	_, err := postgres.Open(t.Context(), dsn, postgres.Options{Schema: schema})
	if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "headrace migrate up") {
		t.Errorf("%v", err)
	}
	db := pgtest.OpenDB(t, "postgres", dsn)
	var tables int
	if err := db.QueryRow("SELECT count(*) FROM pg_tables WHERE schemaname = $1", schema).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("opening made %d tables, %v", tables, err)
	}
}

// Two processes that open with Migrate at once, on a schema that is not there yet.
//
//evidence:migrate
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.NewDatabase(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			s, err := postgres.Open(t.Context(), dsn, postgres.Options{Schema: "Fresh", Migrate: true})
			if err != nil {
				t.Errorf("%v", err)
				return
			}
			shut(t, s)
		})
	}
	wait.Wait()
	open(t, dsn, postgres.Options{Schema: "Fresh"})
}

// A role that may use the tables and create nothing opens with Migrate where
// nothing is missing.
func TestMigrateWithoutRights(t *testing.T) {
	t.Parallel()
	dsn := pgtest.NewDatabase(t)
	open(t, dsn, postgres.Options{Migrate: true})
	db := pgtest.OpenDB(t, "postgres", dsn)
	role := "headrace_test_" + strings.ToLower(t.Name())
	for _, statement := range []string{
		"DROP ROLE IF EXISTS " + role, "CREATE ROLE " + role + " LOGIN", "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO " + role,
		"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO " + role,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _, _ = db.Exec("DROP OWNED BY " + role + "; DROP ROLE " + role) })
	s := open(t, strings.Replace(dsn, "postgres@", role+"@", 1), postgres.Options{Migrate: true})
	b := &bundle{T: t, Store: s}
	x := b.begin()
	b.claim(x, inbox.ClaimRequest{}, "k")
	event := outbox.RowOf(headrace.Event{ID: "1", Topic: "t", OrderKey: "o", Payload: []byte("{}")})
	if err := s.Commit(t.Context(), x, []outbox.Row{event}); err != nil {
		t.Error(err)
	}
}

// INVARIANTS 3: 43. Schema names with quotes, upper case and what looks like our own
// token; every statement runs in them.
func TestSchemaNames(t *testing.T) {
	t.Parallel()
	dsn := pgtest.NewDatabase(t)
	for _, name := range []string{`Mixed Case`, `o'brien "and" sons; --`, `select`, `{{schema}}`, `$1%s\`, strings.Repeat("ü", 31)} {
		t.Run(name, func(t *testing.T) {
			s := open(t, dsn, postgres.Options{Schema: name, Migrate: true})
			b := &bundle{T: t, Store: s, db: pgtest.OpenDB(t, "postgres", dsn)}
			everyStatement(b)
			if n := one[int](b, b.db, "SELECT count(*) FROM "+pq.QuoteIdentifier(name)+".headrace_inbox"); n != 2 {
				t.Errorf("%d rows in the inbox", n)
			}
			if n := one[int](b, b.db, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
				t.Errorf("%d tables elsewhere", n)
			}
		})
	}
}

// everyStatement runs each statement of a store once, over a few messages.
func everyStatement(b *bundle) {
	b.Helper()
	d := headrace.Delivery{Scope: scope, Key: "2", OrderKey: "o", Fingerprint: "print"}
	everyLetter(b, d)
	x := b.begin()
	everyMessage(b, x, inbox.ID{Scope: scope, Key: "2"})
	everyItem(b, x, d)
	event := outbox.RowOf(headrace.Event{ID: "1", Topic: "t", OrderKey: "o", Payload: []byte("{}")})
	everyEvent(b, x, event)
	_, err := b.Letters().Insert(b.Context(), x, []dlq.Letter{{Class: dlq.Permanent, Delivery: d}})
	b.must("letter", err)
	b.must("commit", b.Commit(b.Context(), x, []outbox.Row{event}))
	everyLook(b)
}

func (b *bundle) must(what string, err error) {
	b.Helper()
	if err != nil {
		b.Errorf("%s: %v", what, err)
	}
}

func everyMessage(b *bundle, x *txn.Txn, id inbox.ID) {
	b.Helper()
	ctx := b.Context()
	b.claim(x, inbox.ClaimRequest{LockTimeout: 1e9, Limits: txn.Limits{Idle: 1e10}}, "1", "2")
	b.claim(x, inbox.ClaimRequest{}, "1")
	b.must("mark stale", b.Inbox().MarkStale(ctx, x, []inbox.ID{{Scope: scope, Key: "1"}}))
	_, err := b.Inbox().Transition(ctx, x, []inbox.ID{id}, inbox.Done, inbox.Dead)
	b.must("transition", err)
	_, err = b.Inbox().AddAttempts(ctx, x, []inbox.Attempt{{ID: id, Class: "permanent"}})
	b.must("add attempts", err)
}

func everyItem(b *bundle, x *txn.Txn, d headrace.Delivery) {
	b.Helper()
	ctx, key := b.Context(), backlog.OrderKey{Scope: scope, Key: "o"}
	items := b.Backlog()
	b.must("put", items.Put(ctx, x, []backlog.Item{{Consumer: "billing", Handler: "orders.paid", Delivery: d, Delay: 1e9}}))
	_, err := items.Promote(ctx, x, "billing", 1)
	b.must("promote", err)
	_, err = items.LockShard(ctx, x, "billing", 0, txn.Limits{Idle: 1e10, Statement: 1e10})
	b.must("lock shard", err)
	_, err = items.Read(ctx, x, backlog.ReadRequest{Consumer: "billing", Limit: 1, Bytes: 1, Handlers: []string{"orders.paid"}})
	b.must("read", err)
	b.must("reschedule", items.Reschedule(ctx, x, []backlog.Change{{RowID: 1, Delay: 1e9, Attempt: 1}}))
	_, err = items.Order.Block(ctx, x, []int64{1})
	b.must("block", err)
	b.must("release", items.Order.Release(ctx, x, []backlog.OrderKey{key}, 1))
	_, err = items.Order.Sweep(ctx, x, "billing", 1)
	b.must("sweep", err)
	everyLease(b, x)
	b.must("delete", items.Delete(ctx, x, []int64{1, 2, 3, 4}))
}

func everyLease(b *bundle, x *txn.Txn) {
	b.Helper()
	ctx, l, leases := b.Context(), backlog.Lease{RowID: 1, Token: "t"}, b.Backlog().Leases
	b.must("move to leased", leases.MoveToLeased(ctx, x, []int64{1}))
	_, err := leases.Claim(ctx, x, "billing", "orders.paid", "t", 1e9, 1)
	b.must("claim leases", err)
	_, _, err = leases.Extend(ctx, x, []backlog.Lease{l}, 1e9)
	b.must("extend", err)
	_, err = leases.Fence(ctx, x, l, txn.Limits{Idle: 1e9})
	b.must("fence", err)
	b.must("give back", leases.GiveBack(ctx, x, []backlog.Lease{l}))
	_, err = leases.Lost(ctx, x, inbox.ID{Scope: scope, Key: "1"}, 0)
	b.must("count lost", err)
	_, err = leases.MoveBack(ctx, x, "billing", "orders.paid", 1)
	b.must("move back", err)
}

func everyEvent(b *bundle, x *txn.Txn, event outbox.Row) {
	b.Helper()
	ctx := b.Context()
	_, err := b.Outbox().LockShard(ctx, x, event.Shard, 0)
	b.must("lock outbox", err)
	b.must("insert", b.Outbox().Insert(ctx, x, []outbox.Row{event}))
	b.must("hold", b.Outbox().Hold(ctx, x, []outbox.Hold{{Row: event, Reason: outbox.Parked}}))
	_, err = b.Outbox().ReadHeld(ctx, x, event.Shard, 1)
	b.must("read held", err)
	_, err = b.Outbox().Blocked(ctx, x, event.Shard)
	b.must("blocked", err)
	b.must("delete", b.Outbox().Delete(ctx, x, event.Shard, []int64{1}))
}

// everyLook runs the statements that are outside of transactions.
func everyLook(b *bundle) {
	b.Helper()
	ctx, marks := b.Context(), make([]int64, backlog.Shards)
	_, _, err := b.Backlog().Leases.Look(ctx, "billing", "orders.paid")
	b.must("look for leases", err)
	_, err = b.Backlog().Poll(ctx, "billing", marks)
	b.must("poll", err)
	_, err = b.Backlog().Depths(ctx)
	b.must("depth", err)
	_, err = b.Outbox().Poll(ctx, marks)
	b.must("poll outbox", err)
	_, err = b.Outbox().Status(ctx)
	b.must("status", err)
	_, err = b.Outbox().Parked(ctx, "", 0, 1)
	b.must("parked", err)
	_, err = b.Outbox().Unpark(ctx, "", nil)
	b.must("unpark", err)
	_, err = b.Inbox().Attempts(ctx, inbox.ID{Scope: scope, Key: "2"})
	b.must("attempts", err)
	_, err = b.Inbox().Find(ctx, "2")
	b.must("find", err)
	_, err = b.Inbox().Counts(ctx, "billing")
	b.must("counts", err)
	everyInstance(b)
	b.must("ping", b.Ping(ctx))
	report, err := b.Check(ctx)
	b.must("check", err)
	if !report.OK() {
		b.Errorf("%+v", slices.DeleteFunc(report.Rules, func(r store.RuleResult) bool { return r.Violations == 0 }))
	}
}

func everyInstance(b *bundle) {
	b.Helper()
	ctx, instances, marks := b.Context(), b.Operations().Instances, b.Operations().Marks
	b.must("start", instances.Start(ctx, instance.Instance{ID: "i", Consumer: "billing"}))
	b.must("beat", instances.Beat(ctx, "i", instance.Work{}))
	b.must("mark", marks.Mark(ctx, instance.Mark{Instance: "i", Messages: []instance.Hash{{}}}))
	_, err := marks.Marks(ctx, "billing", "")
	b.must("marks", err)
	_, err = marks.CountDeath(ctx, "i", -1e12)
	b.must("count death", err)
	_, err = marks.Suspects(ctx, "billing", 1)
	b.must("suspects", err)
	b.must("clear", marks.Clear(ctx, "billing", instance.Hash{}))
	b.must("end", instances.End(ctx, "i"))
	b.must("forget", instances.Forget(ctx, 1e12))
}

// everyLetter runs the statements of dead letters, in a transaction of their own
// that is rolled back.
func everyLetter(b *bundle, d headrace.Delivery) {
	b.Helper()
	ctx, x := b.Context(), b.begin()
	d.Key = "3"
	l := dlq.Letter{Class: dlq.Permanent, Consumer: "billing", Handler: "orders.paid", Delivery: d}
	for range 2 {
		if _, err := b.Letters().Insert(ctx, x, []dlq.Letter{l}); err != nil {
			b.Fatal(err)
		}
	}
	taken, err := b.Letters().Take(ctx, x, dlq.Filter{Key: "3"}, dlq.Redriven, 0, 10)
	if err != nil || len(taken) != 1 {
		b.Fatalf("%d taken, %v", len(taken), err)
	}
	if err := b.Letters().Record(ctx, x, []dlq.Audit{{LetterID: taken[0].LetterID, Action: "redrive"}}); err != nil {
		b.Error(err)
	}
	x.Rollback()
	_, errGet := b.Letters().Get(ctx, 0)
	_, errList := b.Letters().List(ctx, dlq.Filter{}, 0, 1)
	_, errGroups := b.Letters().Groups(ctx, dlq.Filter{})
	_, errCount := b.Letters().Count(ctx, dlq.Filter{})
	_, errTrail := b.Letters().Trail(ctx, 1)
	if err := errors.Join(errList, errGroups, errCount, errTrail); err != nil || !errors.Is(errGet, dlq.ErrNotFound) {
		b.Errorf("%v, %v", err, errGet)
	}
}
