package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// ruling is a verdict that has been written into a transaction.
type ruling struct {
	outcome Outcome
	again   bool // run at once again
	// dropped says that the verdict is not to be committed: somebody else gave one.
	dropped bool
	class   string
	n       int          // the attempt's number
	rows    []outbox.Row // the letter's copy
	failure dlq.Failure
}

// verdict commits what becomes of a live task that failed, and reports whether it
// is to be run again at once. It blocks until the database takes it, or until the
// consumer stops: then the task is released.
func (e *Engine) verdict(f failure) (outcome Outcome, again bool) {
	if down := e.silent(f); down != nil {
		return Released, sleep(e.soft, e.o.Gate.Fail(down))
	}
	write := e.ruleLive
	if f.task.token != "" {
		write = e.ruleLeased
	}
	for {
		r, err := e.once(func(ctx context.Context, t *txn.Txn) (ruling, error) { return write(ctx, t, f) })
		if err == nil {
			e.o.Gate.OK()
			e.report(f, r)
			return r.outcome, r.again
		}
		if errors.Is(err, txn.ErrCommitUnknown) {
			f.task.unknown, f.recorded = true, r.n
		}
		if c := txn.Classify(err); c == txn.Serialization || c == txn.LockTimeout || errors.Is(err, errHeldElsewhere) && e.answers() {
			if e.hard.Err() != nil {
				return Released, false
			}
			continue
		}
		if e.soft.Err() != nil {
			return Released, false
		}
		if !sleep(e.soft, e.o.Gate.Fail(fmt.Errorf("verdict: %w", err))) {
			return Released, false
		}
	}
}

// silent returns what says that f is nobody's failure, because the store gives no answer
// either; nil where it is to be judged.
func (e *Engine) silent(f failure) error {
	if !f.late() {
		return nil
	}
	if down := e.ping(); down != nil {
		return outage{f.err, down}
	}
	return nil
}

// ruleLive writes the verdict on a delivery that failed, was found stale, or cannot
// be decoded.
func (e *Engine) ruleLive(ctx context.Context, t *txn.Txn, f failure) (ruling, error) {
	switch {
	case f.task.Bad != nil:
		return e.bury(ctx, t, f.task)
	case errors.Is(f.err, errCrashed):
		return e.crashed(ctx, t, f.task)
	case f.isStale():
		return e.skip(ctx, t, f.task)
	}
	return e.rule(ctx, t, f)
}

// once runs write in a transaction of its own and commits it. With an error it
// returns what would have been committed.
func (e *Engine) once(write func(context.Context, *txn.Txn) (ruling, error)) (ruling, error) {
	t, err := e.begin()
	if err != nil {
		return ruling{}, err
	}
	defer t.Rollback()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.hard), e.o.Patience)
	defer cancel()
	r, err := write(ctx, t)
	if err != nil && ctx.Err() != nil { // for a row that somebody else holds
		return ruling{}, fmt.Errorf("%w: %w", errHeldElsewhere, err)
	}
	if err != nil {
		return ruling{}, err
	}
	if r.dropped {
		return r, nil
	}
	if err := e.st.Commit(ctx, t, r.rows); err != nil {
		return r, err
	}
	if len(r.rows) > 0 {
		e.o.Wake()
	}
	return r, nil
}

func (e *Engine) report(f failure, r ruling) {
	f.task.judged(r)
	if r.class != "" {
		e.o.Failed(e.h, f.task, r.failure, r.class, f.took, r.outcome, r.again)
	}
}

// rule writes the verdict on a failed run: its attempt, and what follows from the
// policy. The row of a backlog task is expected to be Waiting; that of a live task
// not to be there.
func (e *Engine) rule(ctx context.Context, t *txn.Txn, f failure) (ruling, error) {
	task := f.task
	class := retry.Classify(f.err)
	if errors.Is(f.err, ErrStuck) {
		class = retry.Timeout
	}
	if errors.Is(f.err, ErrLeaseLost) {
		class = retry.Lost
	}
	r := ruling{class: string(class), failure: dlq.Describe(f.err, f.stack)}
	behind, err := e.orderOf(ctx, t, task)
	if err != nil {
		return r, err
	}
	n, err := e.st.Inbox().AddAttempt(ctx, t, inbox.Attempt{
		ID: task.ID(), Class: r.class, Error: r.failure.Error, ErrorType: r.failure.Type,
		Duration: f.took, Host: e.o.Host, Build: e.o.Build, Trace: task.Delivery.Trace,
	})
	if err != nil {
		return r, fmt.Errorf("record attempt: %w", err)
	}
	if f.recorded > 0 && n > f.recorded { // the COMMIT without an answer had happened
		task.Delivery.Attempt = n
		r = e.lost(task, r)
		r.again = r.again || task.token != "" // and the lease is held still
		return r, nil
	}
	r.n, task.Delivery.Attempt = n, n // a redelivery may have begun to count anew
	spent := 0
	if task.item != nil {
		spent = task.item.Spent
	}
	decision := e.h.Policy.Decide(f.err, class, n-spent, task.Delivery.Scope+"\x00"+task.Delivery.Key)
	if class == retry.Lost {
		if decision, err = e.forgive(ctx, t, task, spent, decision); err != nil {
			return r, err
		}
	}
	switch decision.Action {
	case retry.Now:
		return e.ruleNow(ctx, t, task, r, n)
	case retry.Later:
		return e.ruleLater(ctx, t, task, r, decision.Delay, behind, n)
	}
	kind := dlq.Exhausted
	if retry.IsPermanent(f.err) {
		kind = dlq.Permanent
	}
	if class == retry.Lost {
		kind = dlq.Crashed
	}
	return e.ruleDead(ctx, t, task, r, kind, n)
}

// orderOf takes the order key of a strict task, and reports whether others of its
// key wait.
func (e *Engine) orderOf(ctx context.Context, t *txn.Txn, task *Task) (bool, error) {
	if !e.h.Strict || task.Delivery.OrderKey == "" {
		return false, nil
	}
	waiting, err := e.lockOrder(ctx, t, []*Task{task})
	return waiting[task.order()], err
}

func (e *Engine) ruleNow(ctx context.Context, t *txn.Txn, task *Task, r ruling, n int) (ruling, error) {
	if task.item != nil {
		if ours, err := e.ours(ctx, t, task, inbox.Waiting); err != nil || !ours {
			return e.lost(task, r), err
		}
		if err := e.st.Backlog().Reschedule(ctx, t, task.item.RowID, 0, n+1); err != nil {
			return r, fmt.Errorf("run again: %w", err)
		}
	}
	task.Delivery.Attempt = n + 1
	r.again = true
	return r, nil
}

func (e *Engine) ruleLater(ctx context.Context, t *txn.Txn, task *Task, r ruling, delay time.Duration, behind bool, n int) (ruling, error) {
	r.outcome = Waiting
	ours, err := e.ours(ctx, t, task, inbox.Waiting)
	if err != nil || !ours {
		return e.lost(task, r), err
	}
	if task.item != nil {
		if task.token != "" {
			delay = max(delay, time.Microsecond) // without one the row would stay leased
		}
		if err := e.st.Backlog().Reschedule(ctx, t, task.item.RowID, delay, n+1); err != nil {
			return r, fmt.Errorf("retry later: %w", err)
		}
		return r, nil
	}
	item := e.item(task)
	item.Delivery.Attempt = n + 1
	if item.Delay = delay; behind {
		item.Blocked, item.Delay = true, 0
	}
	if err := e.st.Backlog().Put(ctx, t, []backlog.Item{item}); err != nil {
		return r, fmt.Errorf("retry later: %w", err)
	}
	return r, nil
}

func (e *Engine) ruleDead(ctx context.Context, t *txn.Txn, task *Task, r ruling, class dlq.Class, n int) (ruling, error) {
	r.outcome = Dead
	ours, err := e.ours(ctx, t, task, inbox.Dead)
	if err != nil || !ours {
		return e.lost(task, r), err
	}
	return e.ruleLetter(ctx, t, task, r, class, n)
}

// ruleLetter writes the letter of a message that is marked as dead.
func (e *Engine) ruleLetter(ctx context.Context, t *txn.Txn, task *Task, r ruling, class dlq.Class, n int) (_ ruling, err error) {
	letter := e.letter(task, class, r.failure)
	letter.Attempts = n
	if r.rows, err = e.giveUp(ctx, t, task, letter); err != nil {
		return r, err
	}
	if task.item == nil {
		return r, nil
	}
	return r, e.leave(ctx, t, task)
}

// bury writes the letter of a delivery that no handler can be given. The key may
// belong to another message, so it is claimed first.
func (e *Engine) bury(ctx context.Context, t *txn.Txn, task *Task) (ruling, error) {
	r := ruling{outcome: Dead, class: string(dlq.Undecodable), failure: dlq.Describe(task.Bad, nil)}
	if _, err := e.orderOf(ctx, t, task); err != nil {
		return r, err
	}
	claim := inbox.Claim{ID: task.ID(), Fingerprint: task.Delivery.Fingerprint}
	claimed, err := e.st.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: []inbox.Claim{claim}, IdleTimeout: e.idle()})
	if err != nil {
		return r, fmt.Errorf("claim: %w", err)
	}
	switch first := claimed[0]; {
	case first.Result == inbox.Won:
		if _, err := e.st.Inbox().Transition(ctx, t, []inbox.ID{task.ID()}, inbox.Done, inbox.Dead); err != nil {
			return r, fmt.Errorf("done to dead: %w", err)
		}
		return e.ruleLetter(ctx, t, task, r, dlq.Undecodable, 0)
	case first.Entry.Fingerprint == task.Delivery.Fingerprint:
		return ruling{outcome: task.before(first.Entry), dropped: true}, nil
	default:
		rows, err := e.conflict(ctx, t, task, first.Entry)
		return ruling{outcome: Conflict, rows: rows}, err
	}
}

// undecodable writes the letter of a backlog row that no handler can be given.
func (e *Engine) undecodable(ctx context.Context, t *txn.Txn, task *Task) (ruling, error) {
	r := ruling{class: string(dlq.Undecodable), failure: dlq.Describe(task.Bad, nil)}
	if _, err := e.orderOf(ctx, t, task); err != nil {
		return r, err
	}
	return e.ruleDead(ctx, t, task, r, dlq.Undecodable, 0)
}

// skip marks a stale task as done without effect.
func (e *Engine) skip(ctx context.Context, t *txn.Txn, task *Task) (ruling, error) {
	entry := inbox.Entry{ID: task.ID(), State: inbox.Done, Fingerprint: task.Delivery.Fingerprint, Stale: true}
	first, err := e.st.Inbox().Record(ctx, t, entry)
	if err != nil {
		return ruling{}, fmt.Errorf("mark stale: %w", err)
	}
	if !first {
		return e.lost(task, ruling{}), nil
	}
	return ruling{outcome: Stale}, nil
}

// ours moves the task's inbox row to state, and reports whether the verdict is
// still ours to give: nobody had finished the message in the meantime.
func (e *Engine) ours(ctx context.Context, t *txn.Txn, task *Task, state inbox.State) (bool, error) {
	if task.item == nil {
		first, err := e.st.Inbox().Record(ctx, t, inbox.Entry{ID: task.ID(), State: state, Fingerprint: task.Delivery.Fingerprint})
		if err != nil {
			return false, fmt.Errorf("record %s: %w", state, err)
		}
		return first, nil
	}
	moved, err := e.st.Inbox().Transition(ctx, t, []inbox.ID{task.ID()}, inbox.Waiting, state)
	if err != nil {
		return false, fmt.Errorf("waiting to %s: %w", state, err)
	}
	return len(moved) == 1, nil
}

// lost is the ruling of a verdict that came too late. A delivery is claimed once more:
// whoever was faster may have had another message under the same key.
func (e *Engine) lost(task *Task, r ruling) ruling {
	r.outcome, r.again, r.dropped, r.class = Duplicate, task.item == nil, true, ""
	return r
}

// leave takes a task that ended out of the backlog, and lets the next of its order
// key come forward.
func (e *Engine) leave(ctx context.Context, t *txn.Txn, task *Task) error {
	if err := e.st.Backlog().Delete(ctx, t, []int64{task.item.RowID}); err != nil {
		return fmt.Errorf("leave the backlog: %w", err)
	}
	if !task.item.Strict || task.Delivery.OrderKey == "" {
		return nil
	}
	if err := e.st.Backlog().Order.Release(ctx, t, task.order()); err != nil {
		return fmt.Errorf("release the order key: %w", err)
	}
	return nil
}

// conflict writes the letter of a task whose key belongs to another message.
func (e *Engine) conflict(ctx context.Context, t *txn.Txn, task *Task, first inbox.Entry) ([]outbox.Row, error) {
	reason := inbox.ErrConflict
	if task.Bad != nil {
		reason = fmt.Errorf("%w; and: %w", reason, task.Bad)
	}
	letter := e.letter(task, dlq.Conflict, dlq.Describe(reason, nil))
	letter.FirstPrint = first.Fingerprint
	return e.giveUp(ctx, t, task, letter)
}

// giveUp inserts the letter of task with its alert, and returns the outbox row of its copy.
func (e *Engine) giveUp(ctx context.Context, t *txn.Txn, task *Task, letter dlq.Letter) ([]outbox.Row, error) {
	return dlq.Bury(ctx, t, noting{e.st.Letters(), task}, e.o.Alerts, letter, e.o.DeadTopic(letter.Delivery.Topic))
}

func (e *Engine) letter(task *Task, class dlq.Class, f dlq.Failure) dlq.Letter {
	l := dlq.Letter{
		Class: class, Consumer: e.h.Consumer, Handler: e.h.Name, Delivery: task.Delivery, Strict: e.h.Strict,
		Error: f.Error, Chain: f.Chain, Stack: f.Stack, ErrorPrint: f.Print, Host: e.o.Host, Build: e.o.Build,
	}
	if task.item != nil {
		l.PreviousID, l.Redrives = task.item.LetterID, task.item.Redrives
	}
	return l
}

func (e *Engine) item(task *Task) backlog.Item {
	return backlog.Item{Consumer: e.h.Consumer, Handler: e.h.Name, Delivery: task.Delivery, Strict: e.h.Strict}
}

// idle bounds how long the server lets a transaction idle between two statements:
// longer than any handler may run.
func (e *Engine) idle() time.Duration {
	return e.h.Timeout + e.o.Grace + 5*time.Second
}
