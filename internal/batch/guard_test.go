package batch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/task"
)

// guard gives advice as a test says, and remembers what entered.
type guard struct {
	advise func([]inbox.ID) []batch.Advice
	refuse error
	quiet  bool // it need not be asked

	mu      sync.Mutex
	entered [][]inbox.ID
	alone   [][]inbox.ID
	left    []bool
	inside  int
	most    int
}

func (g *guard) Advises() bool { return !g.quiet }

func (g *guard) Advise(_ context.Context, messages []inbox.ID) []batch.Advice {
	return g.advise(messages)
}

func (g *guard) Enter(_ context.Context, messages []inbox.ID, alone bool) (func(bool), error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse != nil {
		return nil, g.refuse
	}
	g.entered = append(g.entered, messages)
	if alone {
		g.alone = append(g.alone, messages)
	}
	g.inside++
	g.most = max(g.most, g.inside)
	return func(ran bool) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.inside--; len(messages) > 0 { // a visit that only reads has none
			g.left = append(g.left, ran)
		}
	}, nil
}

// byKey advises by the keys of messages.
func byKey(advice map[string]batch.Advice) func([]inbox.ID) []batch.Advice {
	return func(messages []inbox.ID) []batch.Advice {
		list := make([]batch.Advice, len(messages))
		for i, m := range messages {
			list[i] = advice[m.Key]
		}
		return list
	}
}

var advice = map[string]batch.Advice{"m1": batch.Alone, "m2": batch.Later, "m3": batch.Never, "m5": batch.Alone}

// checkAdvice checks what became of m0 to m7 after advice.
func checkAdvice(f *enginetest.Fixture, g *guard, h *task.Handler, runs *enginetest.Runs) {
	f.Helper()
	f.AppliedOnce(h, "m0", "m1", "m4", "m5", "m6", "m7")
	if runs.Of("m3") != 0 || f.State(h, "m3") != inbox.Dead {
		f.Errorf("m3: %d runs, state %q", runs.Of("m3"), f.State(h, "m3"))
	}
	if letters := f.Letters(); len(letters) != 1 || letters[0].Class != dlq.Crashed || letters[0].Delivery.Key != "m3" {
		f.Errorf("letters %+v", letters)
	}
	if runs.Of("m2") != 0 {
		f.Error("m2 ran, which another process may be running")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.alone) != 2 || len(g.alone[0]) != 1 || len(g.alone[1]) != 1 || g.inside != 0 || g.most != 1 || slices.Contains(g.left, false) {
		f.Errorf("alone %v, left %v, %d inside, at most %d", g.alone, g.left, g.inside, g.most)
	}
	for _, ids := range g.entered {
		if len(ids) > 1 && (slices.ContainsFunc(ids, func(id inbox.ID) bool { return id.Key == "m1" || id.Key == "m5" || id.Key == "m2" })) {
			f.Errorf("a suspect entered beside others: %v", ids)
		}
	}
}

// Live deliveries run as the guard says: suspects alone, others together, some later, some
// not any more.
func TestAdviceOfDeliveries(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		g := &guard{advise: byKey(advice)}
		e := f.Engine(func(o *batch.Options) { o.Guard = g })
		h := counted("orders", &runs, never)
		left := e.Process(e.Tasks(h, enginetest.Keys("m", 8)...))
		if len(left) != 1 || left[0].Delivery.Key != "m2" || left[0].Rest == 0 {
			f.Errorf("left: %v", task.IDs(left))
		}
		checkAdvice(f, g, h, &runs)
		g.advise = byKey(nil)
		e.ProcessAll(left)
		f.AppliedOnce(h, "m2")
	})
}

// So do rows of the backlog: they are read, the guard is asked, and they are claimed by
// their numbers.
func TestAdviceOfRows(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		g := &guard{advise: byKey(advice)}
		e := f.Engine(func(o *batch.Options) { o.Guard = g })
		h := counted("orders", &runs, never)
		take(e, h, "k", enginetest.Keys("m", 8)...)
		w := e.Worker(h)
		if r, err := w.Work(f.Context(), shardOf, 0); err != nil || r.Rows != 7 {
			f.Errorf("%+v, %v", r, err)
		}
		checkAdvice(f, g, h, &runs)
		g.advise = byKey(nil)
		e.WorkOff(w)
		f.AppliedOnce(h, "m2")
	})
}

// A guard that need not be asked costs a visit nothing: one transaction.
func TestVisitAsksOnlyAGuardThatAdvises(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		g := &guard{quiet: true, advise: func([]inbox.ID) []batch.Advice {
			f.Error("asked")
			return nil
		}}
		e := f.Engine(func(o *batch.Options) { o.Guard = g })
		h := counted("orders", new(enginetest.Runs), never)
		take(e, h, "k", "m0", "m1")
		before := f.Store.Begins.Load()
		if _, err := e.Worker(h).Work(f.Context(), shardOf, 0); err != nil || f.Store.Begins.Load() != before+1 {
			f.Errorf("%d transactions, %v", f.Store.Begins.Load()-before, err)
		}
		f.AppliedOnce(h, "m0", "m1")
	})
}

// What follows in the order key of a message that has to wait waits with it, and what comes before it runs.
//
// Without that a message before it was left as well, with no rest: a worker took the key again at once, and again,
// until the one behind it was free.
func TestAdviceKeepsOrder(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		g := &guard{advise: byKey(map[string]batch.Advice{"m3": batch.Later})}
		e := f.Engine(func(o *batch.Options) { o.Guard = g })
		h := counted("orders", &runs, never)
		var tasks []*task.Task
		for i, key := range enginetest.Keys("m", 6) {
			tasks = append(tasks, e.Task(h, enginetest.Delivery(h, key, []string{"a", "b"}[i%2])))
		}
		left := e.Process(tasks)
		f.AppliedOnce(h, "m0", "m1", "m2", "m4")
		if len(left) != 2 || left[0].Rest == 0 || runs.Of("m3")+runs.Of("m5") != 0 {
			f.Errorf("left %v, runs %v", task.IDs(left), runs.Order())
		}
		g.advise = byKey(nil)
		e.ProcessAll(left)
		if order := runs.Order()[4:]; !slices.Equal(order, []string{"m3", "m5"}) {
			f.Errorf("order %v", order)
		}
	})
}

// A handler that was left behind has not returned: the guard is told so.
func TestGuardIsToldWhoReturned(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		release := make(chan struct{})
		g := &guard{advise: byKey(nil)}
		e := f.Engine(func(o *batch.Options) { o.Guard = g })
		h := enginetest.Handler("orders", func(_ context.Context, _ *headrace.Tx, in task.Input) error {
			if in.Delivery.Key == "stuck" {
				<-release
			}
			return nil
		})
		h.Timeout = 500 * time.Millisecond
		e.Deliver(h, "m0")
		if !slices.Equal(g.left, []bool{true}) {
			f.Errorf("it returned: %v", g.left)
		}
		g.left = nil
		e.Deliver(h, "stuck")
		if len(g.left) == 0 || g.left[0] {
			f.Errorf("it was left behind: %v", g.left)
		}
		close(release)
	})
}

// A guard that cannot write marks keeps the messages from running, as a store that is
// away does. What is only taken in does not ask it.
func TestGuardThatCannotMark(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		g := &guard{refuse: errors.New("no mark"), advise: byKey(nil)}
		e := f.Engine(func(o *batch.Options) { o.Guard = g })
		h := counted("orders", &runs, never)
		take(e, h, "k", "m0")
		if _, err := e.Worker(h).Work(f.Context(), shardOf, 0); !errors.Is(err, g.refuse) || len(runs.Order()) != 0 {
			f.Errorf("%v, runs %v", err, runs.Order())
		}
		h.Intake = true
		e.Deliver(h, "m1")
		if o := e.Outcomes("m1"); len(o) != 1 || o[0] != task.Waiting {
			f.Errorf("%v", o)
		}
	})
}
