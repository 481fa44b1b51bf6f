package storetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// plants break each rule of Check, and no other. They are keyed by the rule. One that sets warned
// makes a warning instead.
var plants = map[string]func(*bundle){
	"answers_are_of_done": func(b *bundle) {
		b.park("a", inbox.Waiting)
		b.in(func(t *txn.Txn) { b.answer(t, "a") })
		b.spoilt = true
	},
	"attempts_have_no_gaps": func(b *bundle) {
		b.in(func(t *txn.Txn) { b.win(t, "a"); b.fail(t, "a"); b.fail(t, "a"); b.fail(t, "a") })
		b.spoil("DELETE FROM {{schema}}.headrace_attempts WHERE n = 2")
	},
	"backlog_is_not_done": func(b *bundle) {
		b.park("a", inbox.Waiting)
		b.spoil("UPDATE {{schema}}.headrace_inbox SET state = 'done' WHERE key = 'a'")
	},
	"backlog_is_waiting": func(b *bundle) {
		b.park("a", inbox.Waiting)
		b.spoil("DELETE FROM {{schema}}.headrace_inbox WHERE key = 'a'")
	},
	"backlog_order_has_one_shard": func(b *bundle) {
		b.wait(keyed("a", "k"), keyed("b", "k"))
		b.spoil("UPDATE {{schema}}.headrace_backlog SET shard = (shard + 1) % 64 WHERE key = 'a'")
	},
	"groups_count_letters": func(b *bundle) {
		b.die(letter("a"))
		b.spoil("DELETE FROM {{schema}}.headrace_letter_changes")
	},
	"inbox_dead_has_letter": func(b *bundle) {
		b.die(letter("a"))
		b.spoil("DELETE FROM {{schema}}.headrace_dead_letters")
	},
	"inbox_discarded_has_letter": func(b *bundle) {
		b.park("a", inbox.Discarded)
		b.spoil("DELETE FROM {{schema}}.headrace_dead_letters")
	},
	"inbox_stand_in_is_dead": func(b *bundle) {
		b.in(func(t *txn.Txn) { b.win(t, "a") })
		b.spoil("UPDATE {{schema}}.headrace_inbox SET key = 'stand-in:a'")
	},
	"inbox_waiting_in_backlog": func(b *bundle) {
		b.park("a", inbox.Waiting)
		b.spoil("DELETE FROM {{schema}}.headrace_backlog")
	},
	"backlog_place_is_one": func(b *bundle) {
		b.wait(keyed("a", "k"), keyed("b", "l"))
		b.spoil("UPDATE {{schema}}.headrace_backlog SET place = (SELECT max(place) FROM {{schema}}.headrace_backlog)")
	},
	"backlog_status_fits": func(b *bundle) {
		b.wait(later(keyed("a", "k"), time.Hour), keyed("b", "l"))
		b.spoil("UPDATE {{schema}}.headrace_backlog SET status = 'ready' WHERE key = 'a'")
	},
	"edits_fit_letters": func(b *bundle) {
		b.edit(dlq.Edit{LetterID: b.die(letter("a"))[0], Rev: 1})
		b.spoil("UPDATE {{schema}}.headrace_letter_edits SET rev = 2")
	},
	"instances_ended_run_nothing": func(b *bundle) {
		b.startInstance("a", "billing")
		b.mark("a", 0, false, "m")
		b.spoil("UPDATE {{schema}}.headrace_instances SET ended_at = beat_at")
	},
	"keys_within_bounds": func(b *bundle) {
		b.in(func(t *txn.Txn) { b.win(t, "a"); b.fail(t, "a") })
		b.spoil("UPDATE {{schema}}.headrace_attempts SET key = ''")
	},
	"letters_changed_has_audit": func(b *bundle) {
		b.die(graves("a")...)
		b.spoil("UPDATE {{schema}}.headrace_dead_letters SET state = 'redriven'")
	},
	"letters_conflict_once": func(b *bundle) {
		conflicts := graves("a", "a")
		conflicts[1].Delivery.Fingerprint = "another"
		b.die(conflicts...)
		b.exec(b.DB, "DROP INDEX {{schema}}.headrace_dead_letters_conflict")
		b.spoil("UPDATE {{schema}}.headrace_dead_letters SET fingerprint = 'another'")
	},
	"letters_open_is_dead": func(b *bundle) {
		b.die(letter("a"))
		b.spoil("DELETE FROM {{schema}}.headrace_inbox WHERE key = 'a'")
	},
	"memos_have_owner": func(b *bundle) {
		b.takesMemo(ledger.MemoTaken, memoOf("in", "a"))
		b.spoil("UPDATE {{schema}}.headrace_memos SET token = ''")
	},
	"requests_have_one_taker": func(b *bundle) {
		b.ask(instance.Request{Kind: "plan", Consumer: "billing"}, time.Minute)
		b.spoil("UPDATE {{schema}}.headrace_requests SET state = 'taken'")
	},
	"outbox_behind_has_head": func(b *bundle) {
		b.publish(rowsOf("t", "k", 1, 2)...)
		b.in(func(t *txn.Txn) { b.hold(t, shardOf("t", "k"), 0, outbox.Parked, outbox.Behind) })
		b.spoil("DELETE FROM {{schema}}.headrace_outbox_held WHERE reason = 'parked'")
	},
	"outbox_held_fits": func(b *bundle) {
		b.publish(rowsOf("t", "k", 1, 1)...)
		b.in(func(t *txn.Txn) { b.hold(t, shardOf("t", "k"), 0, outbox.Parked) })
		b.spoil("UPDATE {{schema}}.headrace_outbox_held SET reason = 'backoff'")
	},
	"outbox_line_is_named": func(b *bundle) {
		b.publish(local(rowsOf("t", "k", 1, 1))...)
		b.spoil("UPDATE {{schema}}.headrace_outbox SET outbox = 'a/b'")
	},
	"outbox_line_parks_nothing": func(b *bundle) {
		b.publish(rowsOf("t", "k", 1, 1)...)
		b.in(func(t *txn.Txn) { b.hold(t, shardOf("t", "k"), 0, outbox.Parked) })
		b.spoil("UPDATE {{schema}}.headrace_outbox_held SET outbox = 'local/a'")
	},
	"outbox_on_one_line": func(b *bundle) {
		b.publish(rowsOf("t", "k", 1, 2)...)
		b.in(func(t *txn.Txn) { b.hold(t, shardOf("t", "k"), 0, outbox.Parked) })
		b.spoil("UPDATE {{schema}}.headrace_outbox_held SET id = (SELECT max(id) FROM {{schema}}.headrace_outbox)")
	},
	"outbox_relay_has_owner": func(b *bundle) {
		b.serve("r", "o", "kafka", "")
		b.spoil("DELETE FROM {{schema}}.headrace_outbox_owners")
	},
	"outbox_order_has_one_shard": func(b *bundle) {
		b.publish(rowsOf("t", "k", 1, 2)...)
		b.in(func(t *txn.Txn) { b.hold(t, shardOf("t", "k"), 0, outbox.Parked) })
		b.spoil("UPDATE {{schema}}.headrace_outbox SET shard = (shard + 1) % 64")
	},
	"conditions_end_once": func(b *bundle) {
		_, err := b.Store.Operations().Conditions.Put(b.ctx, "", "", condition.Change{Conditions: []condition.Condition{failingCondition("k")}})
		b.must(err)
		b.spoil("UPDATE {{schema}}.headrace_conditions SET state = 'resolved'")
	},
	"redrives_count_letters": func(b *bundle) {
		b.die(letter("a"))
		b.plan(dlq.Filter{})
		b.spoil("UPDATE {{schema}}.headrace_redrives SET count = 2")
	},
	"redrives_sent_is_true": func(b *bundle) {
		b.die(letter("a"))
		b.plan(dlq.Filter{})
		b.exec(b.DB, "UPDATE {{schema}}.headrace_redrives SET sent = 1")
		b.spoil("UPDATE {{schema}}.headrace_redrive_letters SET state = 'sent'")
	},
	"steps_awaiting_waits": func(b *bundle) {
		b.park("a", inbox.Done)
		b.spoil("INSERT INTO {{schema}}.headrace_steps (scope, key, step, system, state, call_id, input_hash, last_call_at, changed_at)" +
			" SELECT scope, key, 'approval', '', 'awaiting', '', '', changed_at, changed_at FROM {{schema}}.headrace_inbox")
	},
	"steps_not_doubled": func(b *bundle) {
		b.park("a", inbox.Waiting)
		r := stepOf("a", "invoice")
		b.markStep(r)
		r.ExternalID, r.Via = "inv_1", ledger.ViaCall
		b.doneStep(r)
		r.CallID, r.OtherID = "another call", "inv_2"
		b.double(true, r)
		b.warned = true
	},
	"steps_done_says_how": func(b *bundle) {
		b.park("a", inbox.Waiting)
		b.markStep(stepOf("a", "invoice"))
		b.spoil("UPDATE {{schema}}.headrace_steps SET state = 'done'")
	},
	"steps_have_message": func(b *bundle) {
		b.park("a", inbox.Waiting)
		b.markStep(stepOf("a", "invoice"))
		b.spoil("UPDATE {{schema}}.headrace_steps SET key = 'b'")
	},
	"steps_open_is_not_done": func(b *bundle) {
		b.park("a", inbox.Done)
		b.spoil("INSERT INTO {{schema}}.headrace_steps (scope, key, step, system, state, call_id, input_hash, last_call_at, changed_at)" +
			" SELECT scope, key, 'invoice', 'erp', 'parked', 'c', '', changed_at, changed_at FROM {{schema}}.headrace_inbox")
	},
	"words_are_known": func(b *bundle) {
		b.wait(item("a"))
		b.spoil("UPDATE {{schema}}.headrace_backlog SET status = 'lost'")
	},
}

// constrained are the rules that the tables' own constraints hold up as well: each
// statement breaks one, and must be refused.
var constrained = map[string][]string{
	"shards_in_range": {
		"UPDATE {{schema}}.headrace_backlog SET shard = 64", "UPDATE {{schema}}.headrace_backlog SET shard = -1",
		"UPDATE {{schema}}.headrace_outbox_held SET shard = 64",
	},
	"backlog_place_is_one": {"UPDATE {{schema}}.headrace_backlog SET place = id - 1"},
}

var checkTests = func() []test {
	tests := []test{
		{name: "sound rows break no rule", run: checkSound},
		{name: "every rule says what it means and can be broken", run: checkRules},
		{name: "the tables refuse what no row may be", run: checkConstraints},
	}
	for rule, plant := range plants {
		tests = append(tests, test{name: rule, run: func(b *bundle) {
			plant(b)
			b.wantRed(rule)
		}})
	}
	slices.SortFunc(tests, func(a, b test) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return tests
}()

// spoil runs a statement that breaks a rule.
func (b *bundle) spoil(query string) {
	b.Helper()
	b.spoilt = true
	if query != "" && b.exec(b.DB, query) == 0 {
		b.Fatalf("%s changed no row", query)
	}
}

// wantRed fails the test unless rule alone is broken, once, with an example.
func (b *bundle) wantRed(rule string) {
	b.Helper()
	report := b.check()
	var red []string
	for _, r := range slices.Concat(report.Rules, report.Warnings) {
		if r.Violations == 0 {
			if r.Example != "" {
				b.Errorf("rule %s holds, with example %q", r.Name, r.Example)
			}
			continue
		}
		red = append(red, r.Name)
		if r.Violations != 1 || r.Example == "" {
			b.Errorf("rule %s: %d violations, example %q", r.Name, r.Violations, r.Example)
		}
	}
	if diff := cmp.Diff([]string{rule}, red); diff != "" {
		b.Errorf("broken rules (-want +got):\n%s", diff)
	}
	if report.OK() != b.warned {
		b.Errorf("the report is OK: %t", report.OK())
	}
}

// sound writes rows in every state that is allowed.
func (b *bundle) sound() {
	b.Helper()
	b.in(func(t *txn.Txn) { b.win(t, "done"); b.fail(t, "done"); b.fail(t, "done") })
	for key, state := range map[string]inbox.State{"waits": inbox.Waiting, "died": inbox.Dead, "gone": inbox.Discarded} {
		b.park(key, state)
	}
	b.wait(later(ordered("late", "k"), time.Hour), keyed("loose 1", "loose"), keyed("loose 2", "loose"), keyed("", "keyless"))
	b.wait(ordered("behind late", "k"), ordered("behind it", "k"))
	b.in(func(t *txn.Txn) { b.block(t, "behind late", "behind it") })
	b.offer(item("leased"), item("waits for a lease"))
	b.lease("t", time.Hour, 1)
	b.startInstance("a", "billing")
	b.mark("a", 0, false, "m1", "m2")
	b.redrive(b.die(letter("redriven"))[0], "redriven")
	b.die(graves("done", "died")[0])
	b.plan(dlq.Filter{})
	b.publish(rowsOf("t", "k", 1, 6)...)
	b.publish(delayed(outbox.RowOf(event("t", "k", 7)), time.Hour))
	b.in(func(t *txn.Txn) {
		b.hold(t, shardOf("t", "k"), time.Hour, outbox.Parked, outbox.Behind, outbox.Backoff, outbox.Behind, outbox.Delayed)
	})
}

//evidence:check
func checkSound(b *bundle) {
	if report := b.check(); !report.OK() {
		b.Errorf("an empty store: %+v", report)
	}
	b.sound() // the end of the test checks
}

//evidence:check
func checkRules(b *bundle) {
	var names []string
	report := b.check()
	for _, r := range slices.Concat(report.Rules, report.Warnings) {
		names = append(names, r.Name)
		if r.Says == "" {
			b.Errorf("rule %s says nothing", r.Name)
		}
	}
	var want []string
	for rule := range plants {
		want = append(want, rule)
	}
	for rule := range constrained {
		if plants[rule] == nil {
			want = append(want, rule)
		}
	}
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(want, names, sorted); diff != "" {
		b.Errorf("rules that the suite can break, and rules of the store (-suite +store):\n%s", diff)
	}
}

func checkConstraints(b *bundle) {
	b.sound()
	for rule, queries := range constrained {
		for _, query := range queries {
			if _, err := b.DB.ExecContext(b.ctx, b.statement(query)); err == nil {
				b.spoilt = true
				b.Errorf("%s: %s was not refused", rule, query)
			}
		}
	}
}
