package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Limits of a rehearsal.
const (
	total    = 60 * time.Second
	perOne   = 5 * time.Second
	perWrite = time.Second // of a letter, where each transaction blocks all other writers
	lockTime = time.Second // of a wait for a lock
	grace    = time.Second // for a handler to return after its deadline
	ours     = 5 * time.Second
	leastGap = 20 * time.Millisecond // for live work after a letter, where only one writes
	maxRead  = 10_000                // letters to choose from
)

// Guard isolates messages that may end the process: see crashguard.Guard.
type Guard interface {
	Enter(ctx context.Context, messages []inbox.ID, alone bool) (leave func(ran bool), err error)
}

// Options are what a Rehearser works with. All but Upkeep are required.
type Options struct {
	Store    store.Store
	Handlers []*task.Handler
	// Instance is this process.
	Instance instance.Instance
	Guard    Guard
	// Sessions counts the goroutines of handlers, Left the abandoned ones.
	Sessions *sync.WaitGroup
	Left     *task.LeftBehind
	// Upkeep counts the letters by their outcome; nil counts nothing.
	Upkeep *telemetry.Upkeep
	// Redact rewrites the texts of errors; may be nil.
	Redact func(string) string
	Logger *slog.Logger
}

// Rehearser rehearses the letters of a consumer. It is safe for concurrent use.
type Rehearser struct {
	Options
	runner *runner.Runner
	single bool // a transaction blocks all other writers
	limit  time.Duration

	underway sync.Mutex // held by the one rehearsal of this consumer here

	mu   sync.Mutex
	ends map[string]string // why handlers that have ended the transaction are not rehearsed
}

// New returns a Rehearser.
func New(o Options) *Rehearser {
	r := &Rehearser{Options: o, limit: perOne, ends: make(map[string]string)}
	if _, r.single = o.Store.Outbox().(outbox.SingleWriter); r.single {
		r.limit = perWrite
	}
	r.runner = &runner.Runner{
		Grace: grace, Sessions: o.Sessions,
		Stuck: func(what any) { o.Left.Add(what.(task.Call), 1) },
		Returned: func(what any) {
			what.(task.Call).Returned()
			o.Left.Add(what.(task.Call), -1)
		},
	}
	return r
}

// Act does what q asks for, a request of kind Kind, and returns a Report. The error matches
// instance.ErrRefused if no letter was rehearsed.
func (r *Rehearser) Act(ctx context.Context, q instance.Request) (any, error) {
	var args Args
	if err := q.Read(&args); err != nil {
		return nil, err
	}
	if args.Count < 0 || max(args.Count, len(args.Letters)) > Most {
		return nil, instance.Refuse("a rehearsal is for 1 to %d letters", Most)
	}
	if !r.underway.TryLock() {
		return nil, instance.Refuse("this process has another rehearsal under way: try again in a minute")
	}
	defer r.underway.Unlock()
	start := time.Now()
	ids, of, err := r.choose(ctx, q.Consumer, args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, total)
	defer cancel()
	report, err := r.rehearse(ctx, q, ids)
	report.Of, report.Took = of, time.Since(start)
	for _, one := range report.Results {
		r.Upkeep.Rehearsed(string(one.Outcome), 1)
	}
	if f := args.Filter; err == nil && f.ErrorFingerprint != "" && f.Handler != "" {
		row := job.RehearsalRow(q.Consumer, f.Handler, f.ErrorFingerprint, report.Build, report.Pass, len(ids))
		row.By = q.By
		err = r.record(ctx, row)
	}
	return report, err
}

// record writes a row of the audit, so that a plan of the same letters tells of the rehearsal.
func (r *Rehearser) record(ctx context.Context, row audit.Row) error {
	ctx, cancel := r.own(ctx)
	defer cancel()
	return store.Transact(ctx, r.Store, func(t *txn.Txn) error { return r.Store.Operations().Audit.Record(ctx, t, row) })
}

// choose returns the ids of the letters to rehearse, and from how many they were chosen.
func (r *Rehearser) choose(ctx context.Context, consumer string, args Args) ([]int64, int64, error) {
	if len(args.Letters) > 0 {
		ids := slices.Compact(slices.Sorted(slices.Values(args.Letters)))
		return ids, int64(len(ids)), nil
	}
	f := args.Filter
	f = dlq.Filter{Consumer: consumer, Handler: f.Handler, Topic: f.Topic, Class: f.Class, ErrorFingerprint: f.ErrorFingerprint}
	ids, err := r.Store.Operations().Rehearsals.Letters(ctx, f, maxRead)
	if err != nil {
		return nil, 0, err
	}
	if len(ids) == 0 {
		return nil, 0, instance.Refuse("no open letter of %s is chosen", consumer)
	}
	of := int64(len(ids))
	if of > maxRead {
		if of, err = r.Store.Letters().Count(ctx, f); err != nil {
			return nil, 0, err
		}
	}
	if args.Count == 0 {
		args.Count = Usual
	}
	return spread(ids, args.Count), of, nil
}

func (r *Rehearser) rehearse(ctx context.Context, q instance.Request, ids []int64) (Report, error) {
	report := Report{Host: r.Instance.Host, Build: r.Instance.Build}
	ran, took := false, time.Duration(0)
	for i, id := range ids {
		if until, _ := ctx.Deadline(); time.Until(until) < r.limit+grace {
			report.NotReached = len(ids) - i
			break
		}
		l, err := r.Store.Letters().Get(ctx, id)
		if errors.Is(err, dlq.ErrNotFound) {
			report.add(Result{LetterID: id, Outcome: Skipped, Why: "there is no letter of that number"})
			continue
		} else if err != nil {
			return report, err
		}
		h, why := r.handler(q.Consumer, &l)
		if h == nil {
			report.add(Result{LetterID: id, Handler: l.Handler, Outcome: Skipped, Why: why})
			continue
		}
		if ran && r.single && !sleep.For(ctx, max(took, leastGap)) {
			return report, context.Cause(ctx)
		}
		ran = true
		start := time.Now()
		one := &run{Rehearser: r, q: q, l: l, h: h}
		result, err := one.result(ctx)
		if err != nil {
			return report, fmt.Errorf("rehearse letter %d: %w", id, err)
		}
		took = time.Since(start)
		report.add(result)
		if one.stuck {
			report.NotReached = len(ids) - i - 1
			break
		}
	}
	if !ran {
		return report, instance.Refuse("%s", report.Results[0].Why)
	}
	return report, nil
}

// handler returns the handler that rehearses l, or why there is none.
func (r *Rehearser) handler(consumer string, l *dlq.Letter) (*task.Handler, string) {
	h := task.Find(r.Handlers, l.Handler)
	switch {
	case l.Consumer != consumer:
		return nil, fmt.Sprintf("it is a letter of consumer %s", l.Consumer)
	case l.State != dlq.Open:
		return nil, fmt.Sprintf("it is %s", l.State)
	case l.Class == dlq.Conflict:
		return nil, "it is a conflict: its key belongs to another message"
	case l.Class == dlq.Crashed:
		return nil, "it has ended its process, and would do so again here"
	case h == nil:
		return nil, fmt.Sprintf("this process has no handler %s", l.Handler)
	}
	if why := refuses(h); why != "" {
		return nil, why
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := r.ends[l.Handler]; why != "" {
		return nil, why
	}
	return h.Rehearsal(r.limit), ""
}

// refuses returns why h cannot be rehearsed; "" if it can.
func refuses(h *task.Handler) string {
	const trial = "stage 1 of a redrive is the trial"
	switch {
	case h.Leased != nil:
		return fmt.Sprintf("%s is a handler of HandleLeased, which calls other systems: %s", h.Label(), trial)
	case h.Topic == "":
		return fmt.Sprintf("%s is a handler of a Router, which may call other systems: %s", h.Label(), trial)
	case h.Alone:
		return fmt.Sprintf("%s is Alone, for calls of other systems: %s", h.Label(), trial)
	case !h.Rehearsable:
		return fmt.Sprintf("%s is not declared consumer.Rehearsable(), so it may call other systems: %s", h.Label(), trial)
	}
	return ""
}

// notAgain has this process rehearse no more letters of a handler.
func (r *Rehearser) notAgain(handler, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends[handler] = why
}
