package rehearsal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/execute"
	"github.com/headrace/headrace/internal/judge"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// run is the rehearsal of one letter.
type run struct {
	*Rehearser
	q instance.Request
	l dlq.Letter
	h *task.Handler

	t     *txn.Txn
	stuck bool // the handler was abandoned
}

// errBusy matches the error of a letter whose rehearsal says nothing, because of other
// transactions or of the limits.
var errBusy = errors.New("not rehearsed")

// result rehearses the letter. Its error is the database's, or ctx's.
func (r *run) result(ctx context.Context) (Result, error) {
	leave, err := r.Guard.Enter(ctx, []inbox.ID{r.l.ID()}, false)
	if err != nil {
		return Result{}, err
	}
	defer func() { leave(!r.stuck) }()
	result, err := r.inside(ctx)
	result.LetterID, result.Handler = r.l.LetterID, r.l.Handler
	switch {
	case errors.Is(err, errBusy):
		result.Outcome, result.Why = Skipped, err.Error()
	case err != nil:
		return result, err
	}
	closed, err := r.closeIfApplied(ctx)
	if closed {
		result.Outcome, result.Error, result.ErrorFingerprint, result.Group = Applied, "", "", ""
		result.Why = "the handler has committed the transaction by itself: the message is handled, and its letter closed"
	}
	return result, err
}

// inside rehearses the letter in a transaction, which has ended when inside returns.
func (r *run) inside(ctx context.Context) (Result, error) {
	begin, cancel := context.WithTimeout(ctx, ours)
	defer cancel()
	var err error
	if r.t, err = r.Store.Begin(begin); err != nil {
		return Result{}, busy(err, "the database has had no connection, or no turn to write, for it")
	}
	defer r.t.Rollback()
	one, err := r.claim(begin)
	if err != nil {
		return Result{}, err
	}
	written := r.Store.Operations().Rehearsals.Written
	before, err := written(begin, r.t)
	if err != nil {
		return Result{}, err
	}
	x, f, err := r.execute(ctx, one)
	if err != nil || f != nil {
		return r.failed(ctx, f), err
	}
	own, done := r.own(ctx)
	defer done()
	after, err := written(own, r.t)
	if err == nil {
		err = txn.TryCommit(own, r.t)
	}
	if err != nil {
		err = busy(err, "other transactions were in its way")
		if errors.Is(err, sql.ErrTxDone) || errors.Is(err, inbox.ErrSwitched) {
			r.notAgain(r.h.Name, fmt.Sprintf("%s has ended the transaction of letter %d by itself: %s is not rehearsed again by this process", r.h.Label(), r.l.LetterID, r.h.Label()))
		}
		if errors.Is(err, errBusy) {
			return Result{}, err
		}
		return r.uncommitted(ctx, err), nil
	}
	result := Result{Outcome: Passes, Rows: after - before}
	if before < 0 {
		result.Rows = -1
	}
	for _, e := range x.Events() {
		if result.Events == nil {
			result.Events = make(map[string]int)
		}
		result.Events[e.Event.Topic]++
	}
	return result, nil
}

// busy returns err, or an error that matches errBusy if other transactions caused it.
func busy(err error, why string) error {
	if txn.Classify(err).Conflict() {
		return fmt.Errorf("%w: %s", errBusy, why)
	}
	return err
}

// own returns a context for our own statements after handlers.
func (*Rehearser) own(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), ours)
}

// claim makes the message done in the transaction, and returns its task. A message under a
// stand-in key is claimed under its own key too, as a redrive does.
func (r *run) claim(ctx context.Context) (*task.Task, error) {
	limits := txn.Limits{Idle: r.limit + grace + ours, Statement: r.limit + grace}
	if err := r.Store.Operations().Limits.Set(ctx, r.t, lockTime, limits); err != nil {
		return nil, err
	}
	to, standIn := inbox.Done, inbox.IsStandIn(r.l.Delivery.Key)
	if standIn {
		to = inbox.Discarded
	}
	moved, err := r.Store.Inbox().Transition(ctx, r.t, []inbox.ID{r.l.ID()}, inbox.Dead, to)
	switch {
	case err != nil:
		return nil, busy(err, "another transaction works on its message")
	case len(moved) == 0:
		return nil, fmt.Errorf("%w: its message is not dead any more", errBusy)
	}
	one := &task.Task{Handler: r.h, Delivery: r.l.Message()}
	one.Delivery.Attempt = 1
	if !standIn {
		r.h.Resolve(one)
		return one, nil
	}
	if r.h.Identify(one); one.Bad != nil || inbox.IsStandIn(one.Delivery.Key) {
		return one, nil
	}
	claimed, err := r.Store.Inbox().Claim(ctx, r.t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: one.ID(), Fingerprint: one.Delivery.Fingerprint}}})
	switch {
	case err != nil:
		return nil, busy(err, "another transaction works on a message of its key")
	case claimed[0].Result != inbox.Won:
		return nil, fmt.Errorf("%w: the handler gives it the key of a message that is %s", errBusy, claimed[0].Entry.State)
	}
	return one, nil
}

// execute runs the handler. It returns the failure, or nil if the handler returned nil.
func (r *run) execute(ctx context.Context, one *task.Task) (*execute.Execution, *outcome.Failure, error) {
	x := execute.New(execute.Plan{
		Txn: r.t, Tasks: []*task.Task{one}, Known: func(*task.Task) *outcome.Failure { return nil },
		Versions: r.Store.Operations().Versions, Cancelled: headrace.WithRehearsal(ctx), Own: func() (context.Context, context.CancelFunc) { return r.own(ctx) },
	})
	if x.Calls() {
		if lost := r.runner.Run(ctx, x.Run); lost != nil {
			return nil, r.lost(lost, one), r.tooLong(lost.Err)
		}
	}
	if failures := x.Failures(); len(failures) > 0 {
		return nil, failures[0], r.tooLong(failures[0].Err)
	}
	tr := x.Trouble()
	if tr == nil {
		return x, nil, nil
	}
	r.t.Rollback()
	switch {
	case tr.Facts.Cancelled || ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case tr.Facts.Late:
		return nil, tr.Culprits[0], r.tooLong(tr.Err)
	case errors.Is(r.t.Lost(), sql.ErrTxDone):
		r.notAgain(r.h.Name, fmt.Sprintf("%s has ended the transaction of letter %d by itself", r.h.Label(), r.l.LetterID))
	case r.t.Lost() != nil:
		return nil, nil, fmt.Errorf("%w: its connection was lost: %s", errBusy, tr.Err)
	case judge.Decide(tr.Facts) == judge.Rerun:
		return nil, nil, fmt.Errorf("%w: other transactions were in its way", errBusy)
	case judge.Decide(tr.Facts) != judge.Fail:
		return nil, nil, tr.Err
	}
	if len(tr.Culprits) > 0 {
		return nil, tr.Culprits[0], nil
	}
	return nil, &outcome.Failure{Task: one, Err: tr.Err}, nil
}

// lost returns the failure of a handler that did not return, and ends its transaction.
func (r *run) lost(l *runner.Lost, one *task.Task) *outcome.Failure {
	if r.stuck = l.Stuck; l.Stuck {
		l.What.(*execute.Call).LeftBehind()
		r.t.Discard()
	}
	return &outcome.Failure{Task: one, Err: l.Err}
}

// tooLong returns an error that matches errBusy if err is the end of the time that a rehearsal
// has, and the handler has more outside of one.
func (r *run) tooLong(err error) error {
	late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, runner.ErrStuck)
	if !late || task.Find(r.Handlers, r.h.Name).Timeout <= r.limit {
		return nil
	}
	return fmt.Errorf("%w: it takes longer than %s, which is the limit of a rehearsal here", errBusy, r.limit)
}

// failed returns the result of a handler that failed with f.
func (r *run) failed(ctx context.Context, f *outcome.Failure) Result {
	if f == nil {
		return Result{}
	}
	if outcome.KindOf(f.Err) == outcome.Stale && f.Kind != outcome.Undecodable {
		return Result{Outcome: Passes, Stale: true}
	}
	d := dlq.Describe(f.Err, f.Stack, r.Redact)
	if _, _, later := retry.Postponed(f.Err); later && !retry.IsPermanent(f.Err) {
		return Result{Outcome: Postpone, Error: d.Error}
	}
	return Result{Outcome: Fails, Error: d.Error, ErrorFingerprint: d.Fingerprint, Group: r.group(ctx, d.Fingerprint)}
}

// uncommitted returns the result of a handler whose transaction would fail with err at COMMIT.
// Letters of that cause have the fingerprint of COMMIT's error, or that of the database's own
// where the message shared its transaction.
func (r *run) uncommitted(ctx context.Context, err error) Result {
	own := r.failed(ctx, &outcome.Failure{Err: err})
	if own.Group == SameGroup {
		return own
	}
	wrapped := r.failed(ctx, &outcome.Failure{Err: fmt.Errorf("%w: %w", txn.ErrRolledBack, err)})
	if own.Group == AnotherGroup && wrapped.Group == NewGroup {
		return own
	}
	return wrapped
}

// group compares the fingerprint of a failure with those of the handler's letters.
func (r *run) group(ctx context.Context, fingerprint string) Group {
	if fingerprint == r.l.ErrorFingerprint {
		return SameGroup
	}
	f := dlq.Filter{Consumer: r.l.Consumer, Handler: r.l.Handler, ErrorFingerprint: fingerprint}
	if letters, err := r.Store.Letters().List(ctx, f, 0, 1); err == nil && len(letters) == 0 {
		return NewGroup
	}
	return AnotherGroup
}

// closeIfApplied closes the letter if the handler has committed the transaction by itself, and
// reports whether it did: the inbox row is not dead any more, while the letter is open. Every
// other decision on a letter changes both in one commit.
func (r *run) closeIfApplied(ctx context.Context) (closed bool, err error) {
	own, cancel := r.own(ctx)
	defer cancel()
	entries, err := r.Store.Inbox().Find(own, r.l.Delivery.Key)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(entries, func(e inbox.Entry) bool { return e.ID == r.l.ID() })
	if i < 0 || entries[i].State != inbox.Done && entries[i].State != inbox.Discarded {
		return false, nil
	}
	err = store.Transact(own, r.Store, func(t *txn.Txn) error {
		taken, err := r.Store.Letters().Take(own, t, dlq.Filter{IDs: []int64{r.l.LetterID}}, dlq.Redriven, 0, 1)
		if closed = len(taken) > 0; err != nil || !closed {
			return err
		}
		return r.Store.Letters().Record(own, t, []dlq.Audit{{
			LetterID: r.l.LetterID, Action: "redrive", By: r.q.By, Reason: "its handler committed the transaction of a rehearsal: the message is handled",
		}})
	})
	if closed && err == nil {
		r.notAgain(r.h.Name, fmt.Sprintf("%s has committed the transaction of letter %d by itself: it is not rehearsed again by this process", r.h.Label(), r.l.LetterID))
		r.Logger.Error("a handler committed the transaction of a rehearsal by itself; its message is handled, and the letter is closed",
			"handler", r.l.Handler, "letter", r.l.LetterID)
	}
	return closed && err == nil, err
}
