package outcome

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/from"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/plan"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Store is the part of a store.Store that a Recorder needs.
type Store interface {
	Inbox() inbox.Store
	Backlog() backlog.Tables
	Letters() dlq.Store
}

// Recorder writes outcomes. It is safe for concurrent use.
type Recorder struct {
	Store Store
	// Answers keeps the answers of handlers. Nil only if none answers.
	Answers store.Answers
	// Steps are the rows of steps. Nil only if no handler has one.
	Steps ledger.Store
	// Signals are the rows of signals. Nil only if no handler awaits one.
	Signals ledger.Signals
	// DeadTopic names the topic for the copy of a dead letter; "" means no copy.
	DeadTopic func(topic string) string
	// Host and Build are written into attempts and letters, Environment into letters.
	Host, Build, Environment string
	// Redact rewrites the texts of errors before they are kept; nil leaves them.
	Redact func(string) string
}

// Batch is the messages of a transaction. Their inbox rows are Done in it.
type Batch struct {
	// Applied are those whose effects are in the transaction, Failed the others.
	Applied []*task.Task
	Failed  []*Failure
	// Answers are those to messages of Applied.
	Answers []store.Answer
	// Gone are backlog rows whose messages other transactions have ended.
	Gone []*task.Task
}

// releaseLimit is how many blocked rows of an order key become ready when the row before
// them has ended.
const releaseLimit = 64

// Record writes the outcomes of b into t, and returns the outbox rows for copies of dead
// letters. It sets Outcome and the fields after it in each failure.
func (r *Recorder) Record(ctx context.Context, t *txn.Txn, b Batch) ([]outbox.Row, error) {
	if len(b.Answers) > 0 {
		if err := r.Answers.Put(ctx, t, b.Answers); err != nil {
			return nil, err
		}
	}
	var copies []outbox.Row
	if len(b.Failed) > 0 {
		err := r.decide(ctx, t, b.Failed)
		if err == nil {
			err = r.move(ctx, t, b.Failed)
		}
		if err == nil {
			err = r.retry(ctx, t, b.Failed)
		}
		if err == nil {
			copies, err = r.deadLetters(ctx, t, b.Failed)
		}
		if err != nil {
			return nil, err
		}
	}
	return copies, r.leave(ctx, t, b)
}

// decide records attempts, and sets the outcome of each failure.
func (r *Recorder) decide(ctx context.Context, t *txn.Txn, failed []*Failure) error {
	var spent []*Failure
	for _, f := range failed {
		f.Outcome, f.Class, f.Attempt, f.Delay, f.letter, f.Postponed, f.overdue = task.Waiting, "", 0, 0, "", false, false
		switch f.Kind {
		case Stale:
			f.Outcome = task.Stale
		case Undecodable:
			f.dead(refusal(f.Err))
		case Crashed:
			f.dead(dlq.Crashed)
		case Rerun:
			f.Delay = RerunPause(f.Task.Reruns)
		case HeldBack:
			f.Outcome = task.Released
		default:
			if !f.postpone() {
				if err := r.overdue(ctx, t, f); err != nil {
					return err
				}
				spent = append(spent, f)
			} else if err := r.arrived(ctx, t, f); err != nil {
				return err
			}
		}
		f.Description = dlq.Describe(f.Err, f.Stack, r.Redact)
	}
	if err := r.attempts(ctx, t, spent); err != nil {
		return err
	}
	for _, f := range spent {
		if err := r.policy(ctx, t, f); err != nil {
			return err
		}
	}
	return nil
}

// overdue has a person decide on a call of unknown outcome whose message has been put off for
// as long as it may be: time has not settled it.
func (r *Recorder) overdue(ctx context.Context, t *txn.Txn, f *Failure) error {
	if r.Steps == nil || !f.overdue {
		return nil
	}
	open, err := r.Steps.Open(ctx, t, []inbox.ID{f.Task.ID()}, nil)
	step := open[f.Task.ID()]
	if err != nil || step.State != ledger.Pending {
		return err
	}
	f.Err = retry.Permanent(&ledger.ParkedError{
		Step: ledger.NameOf(step.Step), System: step.System, Err: f.Err,
		Reason: "the outcome of a call is unknown, and the message may be put off no longer",
	})
	return nil
}

// Unleased holds back those of tasks that an earlier release has leased, or lettered, and of which
// a step is open: their handlers, which are not leased, do not know of the call.
func (r *Recorder) Unleased(ctx context.Context, t *txn.Txn, tasks []*task.Task) error {
	var ids []inbox.ID
	for _, one := range tasks {
		if r.Steps != nil && (one.Item.Starts > 0 || one.Item.LetterID > 0) {
			ids = append(ids, one.ID())
		}
	}
	if len(ids) == 0 {
		return nil
	}
	open, err := r.Steps.Open(ctx, t, ids, nil)
	for _, one := range tasks {
		switch step := open[one.ID()]; step.State {
		case ledger.Pending, ledger.Parked, ledger.Awaiting:
			one.Held = plan.Unleased(step, one.Item.Postponed)
		}
	}
	return err
}

// arrived lets a postponed message run again at once if a signal that its run found
// missing was sent meanwhile. A Send waits for the lock of the lease, which t has: it comes
// before this look, or finds the message put off.
func (r *Recorder) arrived(ctx context.Context, t *txn.Txn, f *Failure) error {
	for _, step := range f.Awaits {
		waits, err := r.Signals.Waits(ctx, t, f.Task.ID(), step)
		if err != nil {
			return err
		}
		if !waits {
			f.Delay = 0
		}
	}
	return nil
}

// refusal is the class of a message that no handler is called for because of err.
func refusal(err error) dlq.Class {
	if death := (*from.Death)(nil); errors.As(err, &death) {
		return dlq.Ingested
	}
	return dlq.Undecodable
}

func (f *Failure) dead(class dlq.Class) {
	f.Outcome, f.letter, f.Class = task.Dead, class, string(class)
}

// attempts records failed attempts.
func (r *Recorder) attempts(ctx context.Context, t *txn.Txn, spent []*Failure) error {
	if len(spent) == 0 {
		return nil
	}
	rows := make([]inbox.Attempt, len(spent))
	for i, f := range spent {
		f.Class = string(f.classify())
		rows[i] = inbox.Attempt{
			ID: f.Task.ID(), Class: f.Class, Error: f.Description.Error, ErrorType: f.Description.Type,
			Duration: f.Took, Host: r.Host, Build: r.Build, Trace: f.Task.Delivery.Trace,
		}
	}
	numbers, err := r.Store.Inbox().AddAttempts(ctx, t, rows)
	if err != nil {
		return fmt.Errorf("record attempts: %w", err)
	}
	for i, f := range spent {
		f.Attempt = numbers[i]
	}
	return nil
}

// policy sets the outcome of an attempt by the handler's policy.
func (r *Recorder) policy(ctx context.Context, t *txn.Txn, f *Failure) error {
	d, h, before := f.Task.Delivery, f.Task.Handler, 0
	if f.Task.Item != nil {
		before = f.Task.Item.Spent
	}
	class := retry.Class(f.Class)
	decision := h.Policy.Decide(f.Err, class, f.Attempt-before, d.Scope+"\x00"+d.Key)
	switch {
	case decision.Action != retry.Never:
		f.Delay = decision.Delay
	case class == retry.Lost:
		// A deploy that kills its processes must not make dead letters: lost leases do
		// that only if there were several.
		lost, err := r.Store.Backlog().Leases.Lost(ctx, t, f.Task.ID(), before)
		if err != nil {
			return err
		}
		if lost >= MaxLost {
			f.letter, f.Outcome = dlq.Crashed, task.Dead
		}
	case ledger.NeedsPerson(f.Err):
		f.letter, f.Outcome = dlq.Parked, task.Dead
	case retry.IsPermanent(f.Err):
		f.letter, f.Outcome = dlq.Permanent, task.Dead
	default:
		f.letter, f.Outcome = dlq.Exhausted, task.Dead
	}
	return nil
}

// MaxLost is how many lost leases make a message a dead letter.
const MaxLost = 3

// move moves the inbox rows.
func (r *Recorder) move(ctx context.Context, t *txn.Txn, failed []*Failure) error {
	var waiting, dead, stale []inbox.ID
	for _, f := range failed {
		switch id := f.Task.ID(); f.Outcome {
		case task.Dead:
			dead = append(dead, id)
		case task.Stale:
			stale = append(stale, id)
		default:
			waiting = append(waiting, id)
		}
	}
	for state, ids := range map[inbox.State][]inbox.ID{inbox.Waiting: waiting, inbox.Dead: dead} {
		if len(ids) == 0 {
			continue
		}
		moved, err := r.Store.Inbox().Transition(ctx, t, ids, inbox.Done, state)
		if err != nil {
			return fmt.Errorf("done to %s: %w", state, err)
		}
		if len(moved) != len(ids) {
			return fmt.Errorf("done to %s: %d of %d rows were there", state, len(moved), len(ids))
		}
	}
	if len(stale) == 0 {
		return nil
	}
	if err := r.Store.Inbox().MarkStale(ctx, t, stale); err != nil {
		return fmt.Errorf("mark stale: %w", err)
	}
	return nil
}

// retry puts messages that run again into the backlog, or reschedules their rows.
func (r *Recorder) retry(ctx context.Context, t *txn.Txn, failed []*Failure) error {
	var items []backlog.Item
	var changes []backlog.Change
	for _, f := range failed {
		if f.Outcome != task.Waiting {
			continue
		}
		next, reruns, reason, fingerprint := f.Task.Delivery.Attempt, 0, f.Description.Error, ""
		switch {
		case f.Attempt > 0:
			next, reason, fingerprint = f.Attempt+1, "", f.Description.Fingerprint
		case f.Kind == Rerun:
			reruns = f.Task.Reruns + 1
		case f.Postponed: // only an attempt begins both anew, or each would let the other go on for ever
			reruns = f.Task.Reruns
		}
		if row := f.Task.Item; row != nil {
			changes = append(changes, backlog.Change{
				RowID: row.RowID, Delay: f.Delay, Attempt: next, Reruns: reruns, Postponed: f.Postponed, Reason: reason, ErrorFingerprint: fingerprint,
			})
			continue
		}
		item := Item(f.Task)
		item.Delivery.Attempt, item.Delay, item.Reruns, item.Reason, item.ErrorFingerprint = next, f.Delay, reruns, reason, fingerprint
		if f.Postponed {
			item.Postponed = 1 // begins now
		}
		items = append(items, item)
	}
	if len(items) > 0 {
		if err := r.Store.Backlog().Put(ctx, t, items); err != nil {
			return fmt.Errorf("retry later: %w", err)
		}
	}
	if len(changes) > 0 {
		if err := r.Store.Backlog().Reschedule(ctx, t, changes); err != nil {
			return fmt.Errorf("retry later: %w", err)
		}
	}
	return nil
}

// Item is the backlog row of a message, as its handler is registered now.
func Item(t *task.Task) backlog.Item {
	h := t.Handler
	item := backlog.Item{Consumer: h.Consumer, Handler: h.Name, Delivery: t.Delivery, Strict: h.Strict, Spread: h.Pace.Slow()}
	if t.Item != nil {
		item.LetterID, item.Redrives = t.Item.LetterID, t.Item.Redrives
	}
	return item
}

// deadLetters writes the letters, and returns the outbox rows of their copies.
func (r *Recorder) deadLetters(ctx context.Context, t *txn.Txn, failed []*Failure) ([]outbox.Row, error) {
	var letters []dlq.Letter
	var of []*Failure
	for _, f := range failed {
		if f.letter == "" {
			continue
		}
		l := r.letter(Item(f.Task), f.letter, f.Description)
		l.Attempts = f.Attempt
		if f.Kind == Crashed {
			recorded, err := r.Store.Inbox().Attempts(ctx, f.Task.ID())
			if err != nil {
				return nil, fmt.Errorf("read attempts: %w", err)
			}
			l.Attempts = len(recorded)
		}
		letters, of = append(letters, l), append(of, f)
	}
	copies, written, err := dlq.Write(ctx, t, r.Store.Letters(), letters, r.DeadTopic)
	for i, w := range written {
		letters[i].LetterID, of[i].LetterID, of[i].Task.Letter = w.LetterID, w.LetterID, &letters[i]
	}
	return copies, err
}

// letter is the dead letter of the message m.
func (r *Recorder) letter(m backlog.Item, class dlq.Class, f dlq.Failure) dlq.Letter {
	return dlq.Letter{
		Class: class, Consumer: m.Consumer, Handler: m.Handler, Delivery: m.Delivery, Strict: m.Strict, PreviousID: m.LetterID, Redrives: m.Redrives,
		Error: f.Error, Chain: f.Chain, Stack: f.Stack, ErrorFingerprint: f.Fingerprint,
		Host: r.Host, Build: r.Build, Environment: r.Environment,
	}
}

// conflict is the letter of the message m, whose key belongs to the one with the
// fingerprint first. bad is why no handler can take m; nil if one can.
func (r *Recorder) conflict(m backlog.Item, bad error, first string) dlq.Letter {
	reason := errors.New("the key was used before with other content")
	if bad != nil {
		reason = fmt.Errorf("%w; and: %w", reason, bad)
	}
	l := r.letter(m, dlq.Conflict, dlq.Describe(reason, nil, r.Redact))
	l.FirstFingerprint = first
	return l
}

// Conflicts writes the letters of live messages whose keys belong to others. first are
// the fingerprints of those, in the same order.
func (r *Recorder) Conflicts(ctx context.Context, t *txn.Txn, tasks []*task.Task, first []string) ([]outbox.Row, error) {
	letters := make([]dlq.Letter, len(tasks))
	for i, one := range tasks {
		letters[i] = r.conflict(Item(one), one.Bad, first[i])
	}
	copies, written, err := dlq.Write(ctx, t, r.Store.Letters(), letters, r.DeadTopic)
	for i, w := range written {
		if tasks[i].Letter = nil; w.Written {
			letters[i].LetterID, tasks[i].Letter = w.LetterID, &letters[i]
		}
	}
	return copies, err
}
