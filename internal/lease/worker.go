package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/steps"
	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Guard isolates messages that may end the process: see package internal/crashguard.
type Guard interface {
	// Lease asks for up to n leases for the handler called who, and returns how many it
	// may claim now. The worker calls GiveBack for each that was not claimed, or has
	// ended.
	Lease(who string, n int) int
	// OnlyLease asks that one of the n leases just granted to the handler is the only one
	// in this process. If it returns false, the handler is next when no lease is granted.
	OnlyLease(who string, n int) bool
	GiveBack(n int)
}

// Options are what the workers of a consumer share.
type Options struct {
	Processor *batch.Processor
	Guard     Guard
	// Paused reports whether the consumer is paused: then no work begins.
	Paused func() bool
	// Systems limit the calls of steps; may be nil.
	Systems *systems.Systems
	// Steps are the rows of steps, Signals those of signals, Memos the shared results. Suspect is the mode in which some may be lost. Wake is
	// as in steps.Options, Redact rewrites the texts of errors that steps keep; it may be nil.
	Steps   ledger.Store
	Signals ledger.Signals
	Memos   ledger.Memos
	Suspect ledger.SuspectStore
	Wake    func()
	Redact  func(string) string
	// Arrived is as in steps.Options.
	Arrived func(ctx context.Context, id inbox.ID, step string) error
	Logger  *slog.Logger
	// Stopping ends when the consumer stops: no more work begins. Cancelled ends when
	// work should stop.
	Stopping, Cancelled context.Context
}

// Worker runs a leased handler. It is used by one Run.
type Worker struct {
	*Options
	p     *batch.Processor
	h     *task.Handler
	steps *steps.Options
	slots chan struct{} // holds one element for each taken slot
	wake  chan struct{}
	works sync.WaitGroup

	mu   sync.Mutex
	held map[*work]struct{}
}

// New returns a worker for h, a leased handler.
func New(h *task.Handler, o *Options) *Worker {
	p := o.Processor
	return &Worker{
		Options: o, p: p, h: h, steps: &steps.Options{
			Store: p.Store, Leases: p.Store.Backlog().Leases, Steps: o.Steps, Signals: o.Signals, Memos: o.Memos, Suspect: o.Suspect, Systems: o.Systems, Runner: p.Runner, StoreTimeout: p.StoreTimeout,
			Failed:    func(err error) time.Duration { return p.Breaker.Fail(fmt.Errorf("a step: %w", err)) },
			Cancelled: o.Cancelled, Redact: o.Redact, Arrived: o.Arrived, Logger: o.Logger.With("handler", h.Name), Telemetry: h.Telemetry,
			Wake: o.Wake,
		},
		slots: make(chan struct{}, h.Leased.Slots), wake: make(chan struct{}, 1),
		held: make(map[*work]struct{}),
	}
}

// The pauses between polls that find nothing.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = time.Second
)

// Run claims rows and works on them until the consumer stops. It returns when work under
// way has ended, except work that ignores its context.
func (w *Worker) Run() {
	var beating sync.WaitGroup
	ended := make(chan struct{})
	beating.Go(func() { w.beat(ended) })
	w.handOut()
	w.works.Wait()
	close(ended)
	beating.Wait()
}

// Wake makes the worker poll at once.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// handOut claims rows while there are free slots.
func (w *Worker) handOut() {
	pause, failing := firstLook, false
	for have := 0; w.Stopping.Err() == nil; {
		if have == 0 {
			select {
			case w.slots <- struct{}{}:
				have = 1
			case <-w.Stopping.Done():
				return
			}
		}
		found, next, err := w.look()
		taken := 0
		if err == nil && found {
			have += w.take()
			taken, err = w.claim(have)
			have -= taken
		}
		switch {
		case err != nil:
			failing = w.failed(err) || failing
			continue
		case failing:
			failing = false
			w.p.Breaker.OK()
		}
		if taken > 0 {
			pause = firstLook
			continue
		}
		pause = w.rest(pause, next)
	}
}

// take takes the free slots, and returns how many.
func (w *Worker) take() (n int) {
	for {
		select {
		case w.slots <- struct{}{}:
			n++
		default:
			return n
		}
	}
}

// look polls for rows; it finds none while the consumer is paused.
func (w *Worker) look() (bool, time.Duration, error) {
	if w.Paused() {
		return false, 0, nil
	}
	ctx, cancel := context.WithTimeout(w.Stopping, w.p.StoreTimeout)
	defer cancel()
	return w.p.Store.Backlog().Leases.Look(ctx, w.h.Consumer, w.h.Name)
}

// failed pauses after an error of our own statements, and reports whether the store may
// be unavailable.
func (w *Worker) failed(err error) bool {
	if w.Stopping.Err() != nil {
		return false // the error may come from its context
	}
	if txn.Classify(err).Conflict() {
		sleep.For(w.Stopping, firstLook)
		return false
	}
	sleep.For(w.Stopping, w.p.Breaker.Fail(fmt.Errorf("lease: %w", err)))
	return true
}

// rest waits for pause, until the next lease ends, or for Wake. It returns the next
// pause.
func (w *Worker) rest(pause, next time.Duration) time.Duration {
	d := pause
	if next > 0 {
		d = min(d, next)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.wake:
		return firstLook
	case <-timer.C:
	case <-w.Stopping.Done():
	}
	return min(2*pause, lastLook)
}

// claim leases at most n rows, but only as many as the guard allows, begins work on them,
// and returns how many.
func (w *Worker) claim(n int) (taken int, err error) {
	if n = w.Guard.Lease(w.h.Scope, n); n == 0 {
		return 0, nil
	}
	defer func() { w.Guard.GiveBack(n - taken) }()
	before := time.Now()
	ctx, cancel := w.p.Own()
	defer cancel()
	t, err := w.p.Store.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer t.Rollback()
	tasks, err := w.claimRows(ctx, t, n)
	if err != nil || len(tasks) == 0 {
		return 0, err
	}
	begin, lost, copies, err := w.record(ctx, t, tasks)
	if err != nil {
		return 0, err
	}
	if begin, err = w.choose(ctx, t, begin, n); err != nil {
		return 0, err
	}
	if err := w.p.Store.Commit(ctx, t, copies); err != nil {
		if errors.Is(err, txn.ErrCommitUnknown) { // they may be ours, without work on them
			w.giveBack(begin...)
		}
		return 0, err
	}
	w.p.Report(lost, len(copies) > 0)
	if w.Stopping.Err() != nil {
		w.giveBack(begin...)
		return 0, nil
	}
	for _, one := range begin {
		w.begin(one, before.Add(w.h.Leased.Term))
	}
	return len(begin), nil
}

func (w *Worker) claimRows(ctx context.Context, t *txn.Txn, n int) ([]*task.Task, error) {
	token := rand.Text()
	items, err := w.p.Store.Backlog().Leases.Claim(ctx, t, w.h.Consumer, w.h.Name, token, w.h.Leased.Term, n)
	if err != nil {
		return nil, err
	}
	tasks := make([]*task.Task, len(items))
	for i := range items {
		tasks[i] = &task.Task{Handler: w.h, Delivery: items[i].Delivery, Item: &items[i], Token: token, Reruns: items[i].Reruns}
	}
	return tasks, nil
}

// record records the tasks whose previous lease was lost: each is an attempt. It returns
// the others, and the outbox rows for copies of dead letters.
func (w *Worker) record(ctx context.Context, t *txn.Txn, tasks []*task.Task) (begin []*task.Task, lost []*outcome.Failure, copies []outbox.Row, err error) {
	var ids []inbox.ID
	for _, one := range tasks {
		if !one.Item.Lost {
			begin = append(begin, one)
			continue
		}
		ids = append(ids, one.ID())
		lost = append(lost, &outcome.Failure{
			Task: one, Err: fmt.Errorf("%w: its process ended, froze or was cut off (start %d)", outcome.ErrLeaseLost, one.Item.Starts-1),
		})
	}
	if len(lost) == 0 {
		return begin, nil, nil, nil
	}
	moved, err := w.p.Store.Inbox().Transition(ctx, t, ids, inbox.Waiting, inbox.Done)
	if err == nil && len(moved) != len(ids) {
		err = fmt.Errorf("%d of %d messages are waiting", len(moved), len(ids))
	}
	if err == nil {
		copies, err = w.p.Recorder.Record(ctx, t, outcome.Batch{Failed: lost})
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("record lost leases: %w", err)
	}
	return begin, lost, copies, nil
}

// choose returns those of tasks, just claimed in t, to work on now, and gives the others
// back in t. If one more lost lease would make a message a dead letter, it must be the
// only work in this process, so that no other message loses its lease with it.
func (w *Worker) choose(ctx context.Context, t *txn.Txn, tasks []*task.Task, n int) ([]*task.Task, error) {
	var suspects, others []*task.Task
	for _, one := range tasks {
		suspect, err := w.suspect(ctx, t, one)
		if err != nil {
			return nil, err
		}
		if suspect {
			suspects = append(suspects, one)
		} else {
			others = append(others, one)
		}
	}
	if len(suspects) == 0 {
		return tasks, nil
	}
	begin, back := others, suspects
	if w.Guard.OnlyLease(w.h.Scope, n) {
		begin, back = suspects[:1], append(others, suspects[1:]...)
	}
	if len(back) == 0 {
		return begin, nil
	}
	return begin, w.p.Store.Backlog().Leases.GiveBack(ctx, t, leasesOf(back))
}

// suspect reports whether one more lost lease makes the message a dead letter. It queries
// the database only for the few messages with enough starts.
func (w *Worker) suspect(ctx context.Context, t *txn.Txn, one *task.Task) (bool, error) {
	if one.Item.Starts < outcome.MaxLost {
		return false, nil
	}
	lost, err := w.p.Store.Backlog().Leases.Lost(ctx, t, one.ID(), one.Item.Spent)
	return lost >= outcome.MaxLost-1, err
}

func leasesOf(tasks []*task.Task) []backlog.Lease {
	leases := make([]backlog.Lease, len(tasks))
	for i, t := range tasks {
		leases[i] = t.Lease()
	}
	return leases
}
