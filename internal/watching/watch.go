package watching

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

const (
	// judgeEvery is the time between two looks of all processes together; with a shorter
	// Quiet that is. gapTime is the least time between two looks of this process.
	judgeEvery = 10 * time.Second
	gapTime    = 250 * time.Millisecond
	// leaseTime is how long a dead process keeps what it does from others. A send takes no
	// more than a third of it.
	leaseTime = 30 * time.Second
	// lookTime bounds the statements of a look.
	lookTime = 20 * time.Second
	// deepEvery is the time between two looks of all processes together at the whole backlog, and at all
	// groups where they are many.
	deepEvery = time.Minute
	// forgetEvery is the time between two removals of what ended forgetAge ago.
	forgetEvery = time.Hour
	forgetAge   = 35 * 24 * time.Hour
)

// Options are what a Watch works with. All fields but Environment and Build are required.
type Options struct {
	Store store.Store
	// Consumer is whose conditions are judged, beside those of the database. Without one it
	// is no process of a consumer: it makes no reports, and judges the database only where
	// no process of a consumer runs, or none has judged it for a while, so that their bounds count. Owner is the id of
	// this process.
	Consumer, Owner string
	// Environment and Build are the process's.
	Environment, Build string
	// OpenLetters is how long open letters are kept; 0 is for ever.
	OpenLetters time.Duration
	// Alerts have their defaults. Callers call its sinks, by their ids.
	Alerts  alerts.Options
	Callers map[string]*alerting.Caller
	// Away reports whether the database is known to be away. Direct sends an alert of this
	// process without it, and does not block. Without a Consumer neither is used.
	Away   func() bool
	Direct func(alerts.Alert)
	Logger *slog.Logger
}

// Watch judges and sends. Its methods are safe for concurrent use.
type Watch struct {
	o       Options
	table   condition.Store
	every   time.Duration
	origin  condition.Origin
	known   atomic.Pointer[condition.Origin] // origin, once it is read
	wake    *outbox.Signal
	reports reports
	many    bool // the consumer has more than fewGroups groups; used by Run only
	forget  time.Time
	tables  outage.Part
}

// New returns a Watch.
func New(o Options) *Watch {
	return &Watch{o: o, table: o.Store.Operations().Conditions, every: min(judgeEvery, o.Alerts.Quiet), wake: outbox.NewSignal()}
}

// Wake makes the watch look soon; a nil Watch does nothing. It never blocks.
func (w *Watch) Wake() {
	if w != nil {
		w.wake.Wake()
	}
}

func (w *Watch) store() condition.Store { return w.table }

// Run judges and sends until ctx ends. It blocks until its goroutines have ended.
func (w *Watch) Run(ctx context.Context) {
	var senders []*sender
	defer func() { w.last(ctx, senders) }()
	if !w.begin(ctx) {
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	for name, caller := range w.o.Callers {
		s := &sender{w: w, sink: name, caller: caller, wake: outbox.NewSignal()}
		senders = append(senders, s)
		running.Go(func() { s.run(ctx) })
	}
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	woken := true
	for {
		changed := w.o.Consumer != "" && w.lookAtConsumer(ctx, woken)
		if more, _ := w.look(ctx, "", false); more || changed {
			for _, s := range senders {
				s.wake.Wake()
			}
		}
		if !sleep.For(ctx, gapTime) {
			return
		}
		select {
		case <-tick.C:
			woken = false
		case <-w.wake.C():
			woken = true
		case <-ctx.Done():
			return
		}
	}
}

// lookAtConsumer judges what concerns the consumer, at once if it was woken or has reports.
func (w *Watch) lookAtConsumer(ctx context.Context, woken bool) bool {
	open, _ := w.reports.state()
	changed, err := w.look(ctx, w.o.Consumer, woken || open)
	if err != nil {
		w.reports.refused(w.o.Direct)
	} else if _, dirty := w.reports.state(); dirty {
		w.wake.Wake() // another process judges
	}
	return changed
}

// begin reads which database it is, and reports false if ctx ends first.
func (w *Watch) begin(ctx context.Context) bool {
	for {
		var err error
		w.origin, err = w.store().Origin(ctx)
		if err == nil {
			w.origin.Environment = cmp.Or(w.o.Environment, w.origin.Database)
			origin := w.origin
			w.known.Store(&origin)
			return true
		}
		w.tables.Tell(ctx, w.o.Logger, err)
		w.reports.refused(w.o.Direct)
		if !sleep.For(ctx, time.Second) {
			return false
		}
	}
}

// look judges a namespace if it is this process's turn, or at once if now is set, and reports
// whether it did.
func (w *Watch) look(ctx context.Context, namespace string, now bool) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	name := "judge:" + namespace
	var at time.Time
	ok := false
	every, err := w.between(ctx)
	if now {
		every = 0
	}
	if err == nil {
		at, ok, err = w.store().Lease(ctx, name, w.o.Owner, leaseTime, every)
	}
	if err == nil && ok {
		err = w.judge(ctx, name, namespace, at)
		if released := w.release(ctx, name, err == nil); err == nil {
			err = released
		}
	}
	if errors.Is(err, errLost) {
		return false, nil
	}
	w.tables.Tell(ctx, w.o.Logger, err)
	return ok && err == nil, err
}

// between is the least time between two looks of all processes together: less than a tick. That of a
// consumer's process comes before that of another one, as long as one runs.
func (w *Watch) between(ctx context.Context) (time.Duration, error) {
	every := w.every * 9 / 10
	if w.o.Consumer != "" {
		return every, nil
	}
	list, err := w.o.Store.Operations().Instances.List(ctx, "")
	if slices.ContainsFunc(list, instance.Instance.Alive) {
		every *= 3
	}
	return every, err
}

// release gives a lease back, also when ctx has ended: the next process need not wait then.
func (w *Watch) release(ctx context.Context, name string, done bool) error {
	ctx, cancel := outlast(ctx)
	defer cancel()
	return w.store().Release(ctx, name, w.o.Owner, done)
}

// outlast returns a context for a statement that is worth a short while after the end of ctx.
func outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, stop := sleep.Outlast(ctx, lastTime)
	longer, cancel := context.WithTimeout(longer, lookTime)
	return longer, func() { cancel(); stop() }
}

// judge reads the facts of a namespace, and writes what follows from them.
func (w *Watch) judge(ctx context.Context, name, namespace string, now time.Time) error {
	f := w.newFacts(namespace, now)
	if namespace == "" {
		if err := w.settle(ctx, name, f); err != nil {
			return err
		}
	} else {
		own, said, undo := w.reports.take()
		f.reports = said
		if err := w.settle(ctx, name, f); err != nil {
			undo()
			return err
		}
		w.reports.stored(own)
	}
	if namespace == "" && now.Sub(w.forget) > forgetEvery {
		w.forget = now
		return w.store().Forget(ctx, forgetAge)
	}
	return nil
}

// settle reads the rest of f, and writes what follows from it.
func (w *Watch) settle(ctx context.Context, name string, f *facts) error {
	if err := w.read(ctx, f); err != nil {
		return err
	}
	change := conclude(w, f, judge(f))
	if len(change.Conditions)+len(change.Gone) == 0 {
		return nil
	}
	ok, err := w.store().Put(ctx, name, w.o.Owner, change)
	if err == nil && !ok {
		return errLost
	}
	return err
}

// errLost is the error of a look whose lease was over before it wrote.
var errLost = errors.New("it took too long, and another process has taken over")

// conclude returns what becomes of the conditions of a namespace.
func conclude(w *Watch, f *facts, found []condition.Finding) (change condition.Change) {
	byKey := make(map[string]*condition.Finding)
	for i := range found {
		x := &found[i]
		w.label(&x.Alert)
		byKey[x.Key] = x
	}
	step := func(was condition.Condition, x *condition.Finding) {
		next, keep := condition.Step(was, x, f.now, w.o.Alerts.Quiet)
		switch {
		case keep && !same(was, next):
			change.Conditions = append(change.Conditions, next)
		case !keep && was.State != "":
			change.Gone = append(change.Gone, was.Key)
		}
	}
	for _, c := range f.current {
		x := byKey[c.Key]
		delete(byKey, c.Key)
		step(c, x)
	}
	for _, x := range byKey {
		step(condition.Condition{Namespace: f.consumer}, x)
	}
	return change
}

// same reports whether a row need not be written again. What it says of the time is not enough.
func same(a, b condition.Condition) bool {
	return a.State == b.State && a.Severity == b.Severity && a.Count == b.Count && a.Groups == b.Groups && a.Known == b.Known &&
		a.Instance == b.Instance && a.Quiet.Equal(b.Quiet) && a.BaseAt.Equal(b.BaseAt) && a.LetterID == b.LetterID && a.Since.Equal(b.Since)
}

// Label completes an alert of this process that has no row. What the database is called is in it
// once it was read. It does not block.
func (w *Watch) Label(a *alerts.Alert) {
	a.Environment, a.Build, a.Links = w.o.Environment, w.o.Build, links(w.o.Alerts.URL, *a)
	if o := w.known.Load(); o != nil {
		a.Environment, a.Database, a.Schema = o.Environment, o.Database, o.Schema
	}
}

// label completes an alert with what it belongs to.
func (w *Watch) label(a *alerts.Alert) {
	a.Environment, a.Database, a.Schema = w.origin.Environment, w.origin.Database, w.origin.Schema
	if a.Build == "" && a.Consumer == w.o.Consumer {
		a.Build = w.o.Build
	}
	a.Key = w.origin.Key(*a)
	a.Links = links(w.o.Alerts.URL, *a)
}

// newFacts are those of a namespace that need not be read.
func (w *Watch) newFacts(namespace string, now time.Time) *facts {
	return &facts{
		now: now, bounds: w.o.Alerts.Bounds, consumer: namespace, errorText: w.o.Alerts.ErrorText, openLetters: w.o.OpenLetters, self: w.o.Owner,
	}
}

// read reads the others.
func (w *Watch) read(ctx context.Context, f *facts) (err error) {
	if f.current, err = w.store().List(ctx, f.consumer, false); err != nil {
		return err
	}
	if f.consumer == "" {
		return w.databaseFacts(ctx, f)
	}
	return w.consumerFacts(ctx, f)
}
