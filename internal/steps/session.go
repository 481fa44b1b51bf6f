package steps

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/plan"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
)

// Options are what the sessions of a consumer share.
type Options struct {
	Store  store.Transactor
	Leases backlog.Leases
	Steps  ledger.Store
	// Signals are the rows of signals.
	Signals ledger.Signals
	// Memos are the results that steps share.
	Memos ledger.Memos
	// Systems limit the calls; may be nil.
	Systems *systems.Systems
	// Suspect is the mode in which rows may be lost.
	Suspect ledger.SuspectStore
	// Runner calls the functions of steps.
	Runner *runner.Runner
	// StoreTimeout bounds one transaction. Failed is called with an error of our own
	// statements, and returns how long to wait before the next try.
	StoreTimeout time.Duration
	Failed       func(error) time.Duration
	// Cancelled ends when work should stop.
	Cancelled context.Context
	// Redact rewrites the texts of errors before they are kept; may be nil.
	Redact func(string) string
	// Wake has people told soon of a step that was skipped, or carried out twice; it does not block.
	Wake   func()
	Logger *slog.Logger
	// Arrived is called when the result of a step is recorded whose run has ended; may be nil.
	Arrived func(ctx context.Context, id inbox.ID, step string) error
	// Telemetry records the calls; may be nil.
	Telemetry *telemetry.Handler
}

// Message is the message of a session.
type Message struct {
	ID    inbox.ID
	Lease backlog.Lease
	// Database is the id of the database, from which keys are computed.
	Database string
	// Sent is the time of the message; zero if it is unknown.
	Sent time.Time
	// Postponed is how long the message has been put off without an attempt.
	Postponed time.Duration
}

// Session is the ledger of one run. It is safe for concurrent use.
type Session struct {
	*Options
	m    Message
	plan *plan.Plan
	run  context.Context // ends with the run
	what any             // names the run to the Runner

	inFlight sync.WaitGroup
	mu       sync.Mutex
	ended    bool
	used     map[string]bool // steps that were done in this run
	rows     map[string]seen // nil before the first step
	fresh    int             // first calls that began since rows were read
	suspect  ledger.SuspectMode
	awaits   []string // signals that the run found missing
}

// seen is a row with the time when it was read.
type seen struct {
	ledger.Row
	at time.Time
}

// since is d, which the row says, as of now.
func (s *seen) since(d time.Duration) time.Duration { return d + time.Since(s.at) }

// New returns the session of one run, which ends with run. what is passed to the Runner
// with each call.
func New(run context.Context, o *Options, p *plan.Plan, m Message, what any) *Session {
	m.Sent = m.Sent.Truncate(time.Microsecond) // as databases compare it
	return &Session{Options: o, m: m, plan: p, run: run, what: what, used: make(map[string]bool)}
}

// Do implements ledger.Session.
func (s *Session) Do(ctx context.Context, r ledger.Request) (result []byte, err error) {
	if err := s.enter(&r); err != nil {
		return nil, fmt.Errorf("step %s: %w", r.Step(), err)
	}
	defer s.inFlight.Done()
	d := &doing{Session: s, r: &r, name: r.Step(), id: newCallID()}
	defer d.leave()
	defer d.release(ctx)
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	return d.do(ctx)
}

// End waits for steps that are under way, and lets no other begin.
func (s *Session) End() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.inFlight.Wait()
}

// enter lets a step begin.
func (s *Session) enter(r *ledger.Request) error {
	if err := s.plan.Declares(r.Spec); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch name := r.Step(); {
	case s.ended:
		return ledger.ErrEnded
	case s.used[name]:
		return ledger.ErrTwice
	default:
		s.used[name] = true
	}
	s.inFlight.Add(1)
	return nil
}

// load reads what earlier runs have recorded, once, and stops a run whose code does not
// know a step of theirs.
func (s *Session) load(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows != nil {
		return nil
	}
	rows, err := s.read(ctx)
	if err != nil {
		return err
	}
	if err := s.plan.Stranger(rows, s.m.Postponed); err != nil {
		return err
	}
	s.rows = make(map[string]seen, len(rows))
	s.note(rows)
	return nil
}

// Begun implements ledger.Session.
func (s *Session) Begun(ctx context.Context) (bool, error) {
	if err := s.load(ctx); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		if r.State != ledger.Failed {
			return true, nil
		}
	}
	return false, nil
}

// note notes rows that were just read. The caller holds s.mu.
func (s *Session) note(rows []ledger.Row) {
	at := time.Now()
	s.fresh = 0
	for _, r := range rows {
		s.rows[r.Step] = seen{r, at}
	}
}

// row returns what is known of a step, under its name or a former one; nil if nothing is. In a
// deploy two builds may have written rows under two names: the one that is furthest decides,
// and others are the rest.
func (s *Session) row(r *ledger.Request) (furthest *seen, others []seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []seen
	for _, name := range append([]string{r.Name}, r.Was...) {
		if row, ok := s.rows[ledger.StepName(name, r.Item)]; ok {
			found = append(found, row)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(found, func(a, b seen) int { return plan.Furthest(a.Row, b.Row) })
	return &found[0], found[1:]
}

// again reads the rows anew, because another transaction has changed one, a COMMIT had no
// answer, or suspect mode has begun or ended.
func (s *Session) again(ctx context.Context) error {
	var mode ledger.SuspectMode
	err := s.until(ctx, func(ctx context.Context) (err error) {
		mode, err = s.Suspect.Get(ctx)
		return err
	})
	if err != nil {
		return err
	}
	rows, err := s.read(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspect = mode
	s.note(rows)
	return nil
}

// lost reports whether suspect mode says that a call may have been made that was's row, or
// no row, does not say.
func (s *Session) lost(was *seen) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.suspect.Covers(s.m.Sent) && (was == nil || was.State == ledger.Failed && !was.Changed.After(s.suspect.Since))
}

// full reports whether the message can have no more steps.
func (s *Session) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rows)+s.fresh >= ledger.MaxSteps
}

// read reads the rows, until it succeeds or ctx ends.
func (s *Session) read(ctx context.Context) (rows []ledger.Row, err error) {
	err = s.until(ctx, func(ctx context.Context) error {
		rows, err = s.Steps.List(ctx, s.m.ID)
		return err
	})
	return rows, err
}

// until calls f until it succeeds, or stays final, or ctx ends. While the store is away
// the run waits: no attempt of the message is spent on it.
func (s *Session) until(ctx context.Context, f func(ctx context.Context) error, final ...error) error {
	if ctx.Err() != nil {
		return endOf(ctx)
	}
	for {
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.StoreTimeout)
		err := f(own)
		cancel()
		if err == nil || slices.ContainsFunc(final, func(target error) bool { return errors.Is(err, target) }) {
			return err
		}
		if !sleep.For(ctx, s.pause(err)) {
			return retry.Postpone(time.Second, fmt.Errorf("the store did not take a step in time: %w: %w", err, endOf(ctx)))
		}
	}
}

// endOf is why ctx has ended: its error, which tells a stop from a failure, and the cause;
// nil if it has not.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == cause {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// text is the text of a function's error, as it may be kept.
func (o *Options) text(err error) string { return dlq.Describe(err, nil, o.Redact).Error }

// warn logs what a person should look at.
func (s *Session) warn(text string, r *ledger.Request, args ...any) {
	if span := trace.SpanContextFromContext(s.run); span.HasTraceID() {
		args = append(args, "trace_id", span.TraceID().String())
	}
	s.Logger.Warn(text, slices.Concat([]any{"key", s.m.ID.Key, "step", r.Step(), "system", r.System}, args)...)
}

// arrived tells that a result came after its run, if it could be recorded.
func (o *Options) arrived(id inbox.ID, step string, err error) {
	if err != nil || o.Arrived == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.Cancelled), o.StoreTimeout)
	defer cancel()
	if err := o.Arrived(ctx, id, step); err != nil {
		o.Logger.Warn("the result of a step came late, and its message was not redriven: redrive its dead letter", "key", id.Key, "step", step, "error", err)
	}
}
