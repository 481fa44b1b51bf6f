package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

var pruneTests = []test{
	{name: "what is old goes, and what something needs stays", run: pruneWhat},
	{name: "nothing is old before its time", run: pruneYoung},
	{name: "open letters go only by their own age, with their message", run: pruneOpen},
	{name: "each batch is a limit and leaves nothing half", run: pruneBatches},
	{name: "a batch that is cut off leaves nothing half", run: pruneCutOff},
	{name: "a consumer prunes its own", run: pruneConsumer},
	{name: "several prune at once, beside claims", run: pruneAtOnce},
	{name: "letters that are being decided on are skipped", run: prunePassesOver, needs: concurrentWriters},
	{name: "a claim that meets a pruned row is won", run: pruneAgainstClaim, needs: concurrentWriters},
	{name: "a round is one process's until its time is over", run: pruneRounds},
	{name: "the newest cut is that of the consumer or of all", run: pruneCut},
	{name: "a walk that begins nowhere is refused", run: pruneNowhere},
}

// plan is what the tests prune by.
var plan = inbox.Plan{Window: 48 * time.Hour, DeadLetters: 24 * time.Hour}

// fates writes a message of each fate.
func (b *bundle) fates(prefix string) {
	b.Helper()
	b.park(prefix+"done", inbox.Done)
	b.in(func(t *txn.Txn) { b.fail(t, prefix+"failed"); b.fail(t, prefix+"failed") })
	b.park(prefix+"failed", inbox.Done)
	b.park(prefix+"conflict", inbox.Done)
	conflict := letter(prefix + "conflict")
	conflict.Class, conflict.Delivery.Fingerprint = dlq.Conflict, "another"
	b.die(conflict)
	b.in(func(t *txn.Txn) { b.fail(t, prefix+"waiting") })
	b.wait(item(prefix + "waiting"))
	b.in(func(t *txn.Txn) { b.fail(t, prefix+"dead") })
	b.park(prefix+"dead", inbox.Dead)
	b.park(prefix+"discarded", inbox.Discarded)
	b.redrive(b.die(letter(prefix + "again"))[0], prefix+"again")
	b.redrive(b.die(letter(prefix + "finished"))[0], prefix+"finished")
	b.in(func(t *txn.Txn) {
		b.move(t, inbox.Waiting, inbox.Done, prefix+"finished")
		b.exec(t, "DELETE FROM {{schema}}.headrace_backlog WHERE key = $1", prefix+"finished")
	})
	b.in(func(t *txn.Txn) { b.answer(t, prefix+"done") })            // the check at the end finds answers without a message
	for _, key := range []string{prefix + "done", prefix + "dead"} { // the check at the end finds steps without a message
		r := stepOf(key, "invoice")
		b.markStep(r)
		r.Via = ledger.ViaCall
		b.doneStep(r)
	}
}

// rows is what is there of a key: its state, attempts, letters and audit rows.
func (b *bundle) rows(key string) string {
	b.Helper()
	return fmt.Sprintf("%s %d %d %d", b.state(key), b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_attempts WHERE key = $1", key),
		b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_dead_letters WHERE key = $1", key),
		b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_audit WHERE subject_kind = 'letter' AND CAST(subject AS bigint) IN (SELECT id FROM {{schema}}.headrace_dead_letters WHERE key = $1)", key))
}

func (b *bundle) wantRows(prefix string, want map[string]string) {
	b.Helper()
	got := make(map[string]string)
	for fate := range want {
		got[fate] = b.rows(prefix + fate)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("state, attempts, letters and audit rows of %q (-want +got):\n%s", prefix, diff)
	}
	orphans := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_audit WHERE subject_kind = 'letter' AND CAST(subject AS bigint) NOT IN (SELECT id FROM {{schema}}.headrace_dead_letters)")
	if orphans != 0 {
		b.Errorf("%d audit rows have no letter", orphans)
	}
}

// whole is what fates writes.
var whole = map[string]string{
	"done": "done 0 0 0", "failed": "done 2 0 0", "conflict": "done 0 1 0", "waiting": "waiting 1 0 0", "dead": "dead 1 1 0",
	"discarded": "discarded 0 1 1", "again": "waiting 0 1 1", "finished": "done 0 1 1",
}

// prune walks to the end, looks at the invariants after each batch if each is set, and
// returns what went.
func (b *bundle) prune(r inbox.PruneRequest, each func()) (total inbox.Pruned) {
	b.Helper()
	for _, batch := range []func(inbox.PruneRequest) (inbox.Pruned, error){
		func(r inbox.PruneRequest) (inbox.Pruned, error) {
			return b.Store.Operations().Pruner.Messages(b.ctx, r)
		},
		func(r inbox.PruneRequest) (inbox.Pruned, error) { return b.Store.Operations().Pruner.Letters(b.ctx, r) },
	} {
		r.From = ""
		for {
			done, err := batch(r)
			if err != nil {
				b.Fatalf("prune: %v", err)
			}
			if done.Messages > int64(r.Limit) || done.Letters > int64(r.Limit) {
				b.Errorf("a batch of %d removed %+v", r.Limit, done)
			}
			total.Messages, total.Letters = total.Messages+done.Messages, total.Letters+done.Letters
			if each != nil {
				each()
			}
			if r.From = done.Next; r.From == "" {
				break
			}
		}
	}
	return total
}

// Invariant 17 and DESIGN §3 Retention: age counts from the last transition; what a row
// of the backlog or an open letter has to do with stays; a dead row goes with its letter.
//
//evidence:prune
func pruneWhat(b *bundle) {
	b.fates("old ")
	b.shift(96 * time.Hour)
	b.fates("young ")
	r := inbox.PruneRequest{Plan: plan, Limit: 1000}
	count, err := b.Store.Operations().Pruner.Count(b.ctx, r)
	b.must(err)
	done := b.prune(r, nil)
	// The letter of a discarded message can go as soon as its message has gone.
	if want := (inbox.Pruned{Messages: 4, Letters: 2}); done != want || count != want {
		b.Errorf("removed %+v, counted %+v, want %+v", done, count, want)
	}
	b.wantRows("young ", whole)
	b.wantRows("old ", map[string]string{
		"done": " 0 0 0", "failed": " 0 0 0", "finished": " 0 0 0", "discarded": " 0 0 0",
		"conflict": "done 0 1 0", "waiting": "waiting 1 0 0", "dead": "dead 1 1 0", "again": "waiting 0 1 1",
	})
	if again := b.prune(r, nil); again != (inbox.Pruned{}) {
		b.Errorf("a second walk removed %+v", again)
	}
}

//evidence:prune
func pruneYoung(b *bundle) {
	b.fates("b ") // older than letters are kept, younger than messages
	b.shift(24 * time.Hour)
	b.fates("a ")
	b.shift(47 * time.Hour)
	r := inbox.PruneRequest{Plan: plan, Limit: 1000}
	count, err := b.Store.Operations().Pruner.Count(b.ctx, r)
	b.must(err)
	if done := b.prune(r, nil); done != count {
		b.Errorf("removed %+v, counted %+v", done, count)
	}
	b.wantRows("a ", whole)
	b.wantRows("b ", map[string]string{
		"done": "done 0 0 0", "failed": "done 2 0 0", "conflict": "done 0 1 0", "waiting": "waiting 1 0 0", "dead": "dead 1 1 0",
		"discarded": "discarded 0 1 1", "again": "waiting 0 1 1", "finished": "done 0 0 0",
	})
}

//evidence:prune
func pruneOpen(b *bundle) {
	b.fates("old ")
	b.shift(36 * time.Hour)
	b.fates("younger ")
	b.shift(96 * time.Hour)
	open := plan
	open.OpenLetters = 72 * time.Hour
	r := inbox.PruneRequest{Plan: open, Limit: 1000}
	count, err := b.Store.Operations().Pruner.Count(b.ctx, r)
	b.must(err)
	if done := b.prune(r, nil); done != count {
		b.Errorf("removed %+v, counted %+v", done, count)
	}
	b.wantRows("old ", map[string]string{"dead": " 0 0 0", "conflict": "done 0 0 0", "again": "waiting 0 1 1", "waiting": "waiting 1 0 0"})
	b.wantRows("younger ", map[string]string{"dead": "dead 1 1 0", "conflict": "done 0 1 0", "again": "waiting 0 1 1"})
	b.prune(r, nil)
	b.wantRows("old ", map[string]string{"conflict": " 0 0 0"}) // the letter had kept it
}

// pruneBatches: a prune that is killed between two batches, wherever that is, has left
// nothing half, and the next one goes on.
func pruneBatches(b *bundle) {
	for n := range 3 {
		b.fates(fmt.Sprintf("%d ", n))
	}
	b.shift(96 * time.Hour)
	done := b.prune(inbox.PruneRequest{Plan: plan, Limit: 1}, b.checkAtEnd)
	if want := (inbox.Pruned{Messages: 12, Letters: 6}); done != want {
		b.Errorf("removed %+v, want %+v", done, want)
	}
	if left := b.prune(inbox.PruneRequest{Plan: plan, Limit: 1}, nil); left != (inbox.Pruned{}) {
		b.Errorf("a second walk removed %+v", left)
	}
}

// pruneCutOff makes each half fail behind its first deletions.
func pruneCutOff(b *bundle) {
	r := inbox.PruneRequest{Plan: plan, Limit: 1000}
	r.OpenLetters = 72 * time.Hour
	b.fates("old ")
	b.shift(96 * time.Hour)
	b.exec(b.DB, "ALTER TABLE {{schema}}.headrace_attempts RENAME TO away")
	_, failed := b.Store.Operations().Pruner.Messages(b.ctx, r)
	b.exec(b.DB, "ALTER TABLE {{schema}}.away RENAME TO headrace_attempts")
	if failed == nil {
		b.Error("messages go although their attempts cannot")
	}
	b.wantRows("old ", whole)
	b.exec(b.DB, "ALTER TABLE {{schema}}.headrace_audit RENAME TO away")
	_, failed = b.Store.Operations().Pruner.Letters(b.ctx, r)
	b.exec(b.DB, "ALTER TABLE {{schema}}.away RENAME TO headrace_audit")
	if failed == nil {
		b.Error("letters go although their trail cannot")
	}
	b.wantRows("old ", whole)
}

func pruneConsumer(b *bundle) {
	b.fates("old ")
	for _, other := range []string{"billing0/x", "billing/", "billin/g", "billing"} {
		b.in(func(t *txn.Txn) {
			b.request(t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: inbox.ID{Scope: other, Key: "k"}, Fingerprint: "f"}}})
		})
	}
	b.shift(96 * time.Hour)
	for consumer, want := range map[string]inbox.Pruned{"unknown": {}, "billin": {Messages: 1}, "billing": {Messages: 5, Letters: 2}, "billing0": {Messages: 1}} {
		r := inbox.PruneRequest{Plan: plan, Consumer: consumer, Limit: 2}
		count, err := b.Store.Operations().Pruner.Count(b.ctx, r)
		b.must(err)
		if done := b.prune(r, nil); done != want || count != want {
			b.Errorf("of %s: removed %+v, counted %+v, want %+v", consumer, done, count, want)
		}
	}
	if done := b.prune(inbox.PruneRequest{Plan: plan, Limit: 2}, nil); done.Messages != 1 {
		b.Errorf("of all: %+v", done)
	}
}

func pruneAtOnce(b *bundle) {
	const old = 300
	b.in(func(t *txn.Txn) {
		for n := range old {
			b.record(t, fmt.Sprint("old ", n), inbox.Done)
		}
	})
	b.shift(96 * time.Hour)
	var mu sync.Mutex
	removed := int64(0)
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			done := b.prune(inbox.PruneRequest{Plan: plan, Limit: 7}, nil)
			mu.Lock()
			removed += done.Messages
			mu.Unlock()
		})
	}
	wait.Go(func() {
		for n := range old {
			b.in(func(t *txn.Txn) { b.claim(t, fmt.Sprint("old ", old-n), fmt.Sprint("new ", n)) })
		}
	})
	wait.Wait()
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_inbox WHERE key LIKE 'new %'"); n != old {
		b.Errorf("%d of %d new messages are there", n, old)
	}
	b.prune(inbox.PruneRequest{Plan: plan, Limit: 7}, nil)
	if removed > old || b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_inbox") > 2*old {
		b.Errorf("%d removed", removed)
	}
}

// prunePassesOver: a letter that is being redriven at this moment is not lost.
func prunePassesOver(b *bundle) {
	open := plan
	open.OpenLetters = 72 * time.Hour
	id := b.die(letter("dead"))[0]
	b.shift(96 * time.Hour)
	t := b.begin()
	b.take(t, dlq.Filter{IDs: []int64{id}}, dlq.Redriven, 0, 1)
	if done := b.prune(inbox.PruneRequest{Plan: open, Limit: 10}, nil); done != (inbox.Pruned{}) {
		b.Errorf("removed %+v", done)
	}
	b.move(t, inbox.Dead, inbox.Waiting, "dead")
	b.put(t, item("dead"))
	b.commit(t)
}

// pruneAgainstClaim: a message that comes back while its row goes is applied again, as
// one that comes back later.
func pruneAgainstClaim(b *bundle) {
	b.park("k", inbox.Done)
	t := b.begin()
	b.exec(t, "DELETE FROM {{schema}}.headrace_inbox WHERE key = 'k'")
	claiming := b.begin()
	answer := b.claimLater(claiming, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: id("k"), Fingerprint: "print of k"}}})
	b.awaitWaiters(1)
	b.commit(t)
	b.wantResults(receive(b, answer), inbox.Won)
	b.commit(claiming)
}

func pruneNowhere(b *bundle) {
	p := b.Store.Operations().Pruner
	r := inbox.PruneRequest{Plan: plan, Limit: 1, From: "nowhere"}
	if _, err := p.Messages(b.ctx, r); err == nil {
		b.Error("messages from nowhere")
	}
	if _, err := p.Letters(b.ctx, r); err == nil {
		b.Error("letters from nowhere")
	}
}
