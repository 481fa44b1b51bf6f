package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/storetest"
	"github.com/headrace/headrace/store/txn"
)

// seed writes what consumers leave behind into the database of HEADRACE_DSN:
//
//	seed dead N         N letters of billing/orders.paid, keys k1…kN, two attempts each
//	seed dead-later 1   one more, with the key later
//	seed dead-other 1   one of another consumer, with the same error fingerprint
//	seed dead-digits 1  one whose error fingerprint begins with digits
//	seed conflict KEY   another message under KEY, and its letter
//	seed evil           a letter whose every text tries something with a terminal
//	seed parked N       N parked events
//	seed steps KEY      a letter whose message has a step that is done, and one that is parked
//	seed schedule NAME  a schedule whose ticks a process makes
//	seed fired NAME     the message of the schedule's tick that a person asked for, which waits
//	seed done KEY       a message that was handled
//	seed answered KEY   a message that was handled, with an answer
//	seed postponed KEY  one that its handler postponed, for a reason with terminal escapes
//	seed retried KEY    a message that failed once and waits for its next attempt
//	seed calling KEY    such a message, with a step whose call may have been carried out
//	seed instance NAME  a process that runs the consumer
//	seed instance-staging NAME   another one, of another environment
//	seed alerts NAME    an alert of the consumer that fires, and one that was resolved, with what sinks got
//	seed relay OUTBOX   two relays of the outbox with different sinks
//	seed broken         a dead message without a letter, which no rule allows
func seed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: seed WHAT [ARG]")
	}
	ts.Check(seedDB(ts.Getenv("HEADRACE_DSN"), ts.Getenv("SCHEMA"), args[0], append(args[1:], "")[0]))
}

func seedDB(dsn, schema, what, arg string) (err error) {
	ctx := context.Background()
	db, err := parseDSN(dsn)
	if err != nil {
		return err
	}
	st, err := New().open(ctx, db, schema, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if what == "instance" {
		return st.Operations().Instances.Start(ctx, instance.Instance{ID: "i-1", Consumer: arg, Host: "mill-1", Build: "v1.2.3", Environment: "production"})
	}
	if what == "instance-staging" {
		return st.Operations().Instances.Start(ctx, instance.Instance{ID: "i-2", Consumer: arg, Host: "mill-2", Build: "v1.2.3", Environment: "staging"})
	}
	if what == "subscription" {
		return st.Operations().Subscriptions.Subscribe(ctx, map[string][]string{arg: {"orders.paid"}})
	}
	if what == "schedule" {
		_, err := st.Operations().Schedules.Declare(ctx, store.Schedule{Name: arg, Cron: "30 2 * * *", Zone: "Europe/Berlin", Within: 25 * time.Hour})
		return err
	}
	if what == "alerts" {
		_, err := st.Operations().Conditions.Put(ctx, "", "", alertsOf(arg))
		return err
	}
	if what == "relay" {
		for _, sink := range []string{"kafka:a", "kafka:b"} {
			if _, err := st.Operations().Relays.Serve(ctx, outbox.Relay{ID: arg + sink, Outbox: arg, Sink: sink, Consumers: []string{"billing"}}, time.Minute); err != nil {
				return err
			}
		}
		return nil
	}
	t, err := st.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if err := (seeder{ctx, st, t}).write(what, arg); err != nil {
		return err
	}
	return st.Commit(ctx, t, nil)
}

type seeder struct {
	ctx context.Context
	st  openStore
	t   *txn.Txn
}

func (s seeder) write(what, arg string) error {
	n, _ := strconv.Atoi(arg)
	switch what {
	case "dead":
		for i := 1; i <= n; i++ {
			if err := s.dead(deadLetter("k" + strconv.Itoa(i))); err != nil {
				return err
			}
		}
		return nil
	case "dead-other":
		return s.dead(otherLetter())
	case "dead-digits":
		return s.dead(digitsLetter())
	case "dead-later":
		return s.dead(deadLetter("later"))
	case "conflict":
		_, err := s.st.Letters().Insert(s.ctx, s.t, []dlq.Letter{conflictLetter(arg)})
		return err
	case "stand-in":
		l := deadLetter("stand-in:" + arg)
		l.Class, l.Attempts = dlq.Undecodable, 0
		return s.dead(l)
	case "steps":
		return s.steps(arg)
	case "signal":
		return s.signal(arg)
	case "fired":
		return s.fired(arg)
	case "evil":
		return s.dead(evilLetter())
	case "parked":
		return s.parked(n)
	case "done":
		return storetest.Enter(s.ctx, s.st.Inbox(), s.t, inbox.Entry{ID: inbox.ID{Scope: "billing/orders.paid", Key: arg}, State: inbox.Done, Fingerprint: "f"})
	case "answered":
		return s.answered(inbox.ID{Scope: "billing/orders.paid", Key: arg})
	case "postponed":
		d := deadLetter(arg).Delivery
		entry := inbox.Entry{ID: inbox.ID{Scope: d.Scope, Key: arg}, State: inbox.Waiting, Fingerprint: d.Fingerprint}
		if err := storetest.Enter(s.ctx, s.st.Inbox(), s.t, entry); err != nil {
			return err
		}
		return s.st.Backlog().Put(s.ctx, s.t, []backlog.Item{{
			Consumer: "billing", Handler: "orders.paid", Delivery: d, Delay: time.Hour, Postponed: time.Minute, Reason: "rate\x1b[2J limit (postponed for 1h0m0s)",
		}})
	case "retried":
		return s.retried(deadLetter(arg))
	case "calling":
		return s.calling(deadLetter(arg))
	case "doubled":
		return s.doubled(arg)
	case "broken":
		return storetest.Enter(s.ctx, s.st.Inbox(), s.t, inbox.Entry{ID: inbox.ID{Scope: "billing/orders.paid", Key: "lost"}, State: inbox.Dead, Fingerprint: "f"})
	}
	return fmt.Errorf("seed what? %q", what)
}

func deadLetter(key string) dlq.Letter {
	failure := dlq.Describe(fmt.Errorf("charge %s: %w", key, context.DeadlineExceeded), nil, nil)
	return dlq.Letter{
		Class: dlq.Exhausted, Consumer: "billing", Handler: "orders.paid",
		Delivery: headrace.Delivery{
			Scope: "billing/orders.paid", Key: key, Fingerprint: "f-" + key, ID: "id-" + key, Topic: "orders",
			Payload: []byte(`{"canary":"payload-canary"}`), Metadata: map[string]string{"Authorization": "header-canary"},
			Coordinates: headrace.Coordinates{Broker: "kafka", Topic: "orders", Partition: "3", Position: "17"},
		},
		Error: failure.Error, Chain: failure.Chain, ErrorFingerprint: failure.Fingerprint, Attempts: 2,
		Host: "mill-1", Build: "v1.2.3", Environment: "production",
	}
}

// conflictLetter is another message under a key.
func conflictLetter(key string) dlq.Letter {
	l := deadLetter(key)
	l.Class, l.FirstFingerprint, l.Attempts = dlq.Conflict, l.Delivery.Fingerprint, 0
	l.ErrorFingerprint = "c0c0c0c0c0c0c0c0"
	l.Delivery.Fingerprint += "-other"
	return l
}

// otherLetter is one of another handler, with the same error fingerprint.
func otherLetter() dlq.Letter {
	l := deadLetter("other")
	l.Consumer, l.Handler, l.Delivery.Scope, l.ErrorFingerprint = "mailer", "orders.refunded", "mailer/orders.refunded", deadLetter("k1").ErrorFingerprint
	return l
}

// digitsLetter has an error fingerprint that begins with digits.
func digitsLetter() dlq.Letter {
	l := deadLetter("digits")
	l.ErrorFingerprint = "5959abcdef012345"
	return l
}

// evilLetter holds terminal escapes wherever a text from outside can stand.
func evilLetter() dlq.Letter {
	const evil = "x\x1b[2J\x1b]0;owned\a\r\nfake line\u009b1m\u202eevil\x7f"
	l := deadLetter("evil" + evil)
	l.Delivery.ID, l.Delivery.Topic, l.Delivery.OrderKey = evil, evil, evil
	l.Delivery.Payload, l.Delivery.Metadata = []byte(evil+"\tend"), map[string]string{evil: evil}
	l.Delivery.Coordinates = headrace.Coordinates{Broker: evil, Topic: evil}
	l.Error, l.Chain, l.Stack, l.Host, l.Build, l.Environment = evil, []string{evil}, "main.f()\n\t"+evil, evil, evil, evil
	return l
}

func (s seeder) dead(l dlq.Letter) error {
	entry := inbox.Entry{ID: l.ID(), State: inbox.Dead, Fingerprint: l.Delivery.Fingerprint}
	if err := storetest.Enter(s.ctx, s.st.Inbox(), s.t, entry); err != nil {
		return err
	}
	for range l.Attempts {
		a := inbox.Attempt{ID: l.ID(), Class: "transient", Error: l.Error, ErrorType: "context.deadlineExceededError", Host: l.Host, Build: l.Build}
		if _, err := s.st.Inbox().AddAttempts(s.ctx, s.t, []inbox.Attempt{a}); err != nil {
			return err
		}
	}
	_, err := s.st.Letters().Insert(s.ctx, s.t, []dlq.Letter{l})
	return err
}

func (s seeder) steps(key string) error {
	l := deadLetter(key)
	l.Class = dlq.Parked
	if err := s.dead(l); err != nil {
		return err
	}
	minute := "60000000"
	if _, ok := s.st.Store.(*postgres.Store); ok {
		minute = "interval '1 minute'"
	}
	for _, r := range []ledger.Row{
		{Step: "invoice", System: "erp\x1b[2J", State: ledger.Done, Via: ledger.ViaCall, ExternalID: "inv_1", Result: []byte(`{"number":"result-canary"}`)},
		{Step: "payout", System: "bank", State: ledger.Parked, Error: "the outcome of a call is unknown"},
	} {
		_, err := s.t.ExecContext(s.ctx, `INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, via, external_id, result, error, first_call_at, last_call_at, settled_at, changed_at)
			SELECT scope, key, $3, $4, $5, 'c', '', $6, $7, $8, $9, changed_at, changed_at, changed_at + `+minute+`, changed_at FROM headrace_inbox WHERE scope = $1 AND key = $2`,
			l.ID().Scope, l.ID().Key, r.Step, r.System, r.State, r.Via, r.ExternalID, r.Result, r.Error)
		if err != nil {
			return err
		}
	}
	return nil
}

// doubled is a letter whose message has a step that was carried out twice.
func (s seeder) doubled(key string) error {
	if err := s.steps(key); err != nil {
		return err
	}
	_, err := s.t.ExecContext(s.ctx, "UPDATE headrace_steps SET other_id = 'inv_2' WHERE key = $1 AND step = 'invoice'", key)
	return err
}

// signal is a message that waits for a signal.
func (s seeder) signal(key string) error {
	d := deadLetter(key).Delivery
	entry := inbox.Entry{ID: inbox.ID{Scope: d.Scope, Key: key}, State: inbox.Waiting, Fingerprint: d.Fingerprint}
	if err := storetest.Enter(s.ctx, s.st.Inbox(), s.t, entry); err != nil {
		return err
	}
	if err := s.st.Backlog().Put(s.ctx, s.t, []backlog.Item{{Consumer: "billing", Handler: "orders.paid", Delivery: d, Delay: time.Hour, Postponed: 1}}); err != nil {
		return err
	}
	_, err := s.st.Operations().Signals.Await(s.ctx, s.t, ledger.Row{ID: entry.ID, Step: "approval"}, time.Hour)
	return err
}

// fired is the message of a tick that a person asked for.
func (s seeder) fired(name string) error {
	row, _, err := s.st.Operations().Schedules.Get(s.ctx, name)
	if err != nil {
		return err
	}
	d := deadLetter(name + "@" + row.Fired.UTC().Format(time.RFC3339Nano) + "/fired").Delivery
	d.Scope = "jobs/" + name
	if err := storetest.Enter(s.ctx, s.st.Inbox(), s.t, inbox.Entry{ID: inbox.ID{Scope: d.Scope, Key: d.Key}, State: inbox.Waiting, Fingerprint: d.Fingerprint}); err != nil {
		return err
	}
	return s.st.Backlog().Put(s.ctx, s.t, []backlog.Item{{Consumer: "jobs", Handler: name, Delivery: d}})
}

func (s seeder) parked(n int) error {
	for i := range n {
		e := headrace.Event{ID: "event-" + strconv.Itoa(i+1), Topic: "invoices\x1b[2J", Payload: []byte("payload-canary")}
		if err := s.st.Outbox().Insert(s.ctx, s.t, []outbox.Row{outbox.RowOf(e)}); err != nil {
			return err
		}
	}
	for shard := range outbox.Shards {
		rows, err := s.st.Outbox().Read(s.ctx, s.t, shard, 0, n)
		if err != nil {
			return err
		}
		var holds []outbox.Hold
		for _, row := range rows {
			holds = append(holds, outbox.Hold{Row: row, Reason: outbox.Parked, Attempts: 5, Error: "refused\x1b[2J"})
		}
		if err := s.st.Outbox().Hold(s.ctx, s.t, holds); err != nil {
			return err
		}
	}
	return nil
}

// retried is a message that failed once, as the letter says.
func (s seeder) retried(l dlq.Letter) error {
	d := l.Delivery
	d.Attempt = 2
	if err := storetest.Enter(s.ctx, s.st.Inbox(), s.t, inbox.Entry{ID: l.ID(), State: inbox.Waiting, Fingerprint: d.Fingerprint}); err != nil {
		return err
	}
	a := inbox.Attempt{ID: l.ID(), Class: "transient", Error: l.Error, ErrorType: "context.deadlineExceededError"}
	if _, err := s.st.Inbox().AddAttempts(s.ctx, s.t, []inbox.Attempt{a}); err != nil {
		return err
	}
	return s.st.Backlog().Put(s.ctx, s.t, []backlog.Item{{
		Consumer: l.Consumer, Handler: l.Handler, Delivery: d, Delay: time.Hour, ErrorFingerprint: l.ErrorFingerprint,
	}})
}

// calling is a message whose first run ended within a call of a step.
func (s seeder) calling(l dlq.Letter) error {
	if err := s.retried(l); err != nil {
		return err
	}
	_, err := s.t.ExecContext(s.ctx, `INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, first_call_at, last_call_at, changed_at)
		SELECT scope, key, 'payout', 'bank', 'pending', 'c', '', changed_at, changed_at, changed_at FROM headrace_inbox WHERE scope = $1 AND key = $2`, l.ID().Scope, l.ID().Key)
	return err
}

// answered writes a message that is done, with an answer.
func (s seeder) answered(id inbox.ID) error {
	if err := storetest.Enter(s.ctx, s.st.Inbox(), s.t, inbox.Entry{ID: id, State: inbox.Done, Fingerprint: "f"}); err != nil {
		return err
	}
	return s.st.Operations().Answers.Put(s.ctx, s.t, []store.Answer{{ID: id, Value: []byte(`{"of":"answer-canary"}`)}})
}
