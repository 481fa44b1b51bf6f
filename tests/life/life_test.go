package life

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/prune"
	"github.com/headrace/headrace/store"
)

// Invariants 1, 2, 3, 11, 12 (but for bytes) and 13 of one message, over all that may
// happen to it; DESIGN §3 Outcomes: the first outcome counts, later ones move a state that
// is expected; a conflict has a letter of its own; a redrive has a new budget.
//
//evidence:life
func TestLivesAgreeWithTheModel(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *database{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			if _, err := d.db.Exec("CREATE TABLE effects (consumer TEXT NOT NULL, msg TEXT NOT NULL)"); err != nil {
				t.Fatal(err)
			}
			runs, steps, failed := 0, 0, false
			until := time.Now().Add(*lasting)
			if testing.Short() {
				until = time.Now().Add(*lasting / 3)
			}
			rapid.Check(t, func(rt *rapid.T) {
				if !failed && time.Now().After(until) {
					return
				}
				runs++
				l := live(rt, d, fmt.Sprint("run", runs))
				if failed {
					l.waitTimeout = shrinking
				}
				failed = true // unless the rest says otherwise: then it is shrunk for as long as it takes
				n := rapid.IntRange(1, 25).Draw(rt, "steps")
				for range n {
					steps++
					l.step(rt)
				}
				l.end(rt)
				failed = false
			})
			t.Logf("%d lives of %d steps in all", runs, steps)
			report, err := d.st.(store.Checker).Check(t.Context())
			if err != nil || !report.OK() {
				t.Errorf("check: %+v, %v", report, err)
			}
		})
	}
}

// life is a world beside its model.
type life struct {
	*world
	model       map[string]*message
	waitTimeout time.Duration
	planned     script // of the last step
}

// live starts a consumer of its own, so that no life sees another.
func live(rt *rapid.T, d *database, name string) *life {
	w := &world{database: d, ctx: context.Background(), name: name, scripts: make(map[string]*script), runs: make(map[string]int)}
	w.kind.handler = rapid.SampledFrom([]string{"handle", "batch", "alone", "intake", "leased"}).Draw(rt, "handler")
	w.kind.strict = rapid.Bool().Draw(rt, "strict")
	l := &life{world: w, model: make(map[string]*message), waitTimeout: waitTimeout}
	rt.Logf("the handler: %+v", w.kind)
	if err := w.start(); err != nil {
		rt.Fatal(err)
	}
	rt.Cleanup(func() {
		if w.stop != nil {
			_ = w.halt()
		}
	})
	return l
}

func (l *life) of(key string) *message {
	m := l.model[key]
	if m == nil {
		m = new(message)
		l.model[key] = m
	}
	return m
}

// end stops the consumer: what is left then is what stays.
func (l *life) end(rt *rapid.T) {
	err := l.halt()
	l.stop = nil
	if err != nil {
		rt.Fatalf("the consumer ended: %v", err)
	}
	for key := range l.model {
		l.agree(rt, key, time.Millisecond)
	}
}

// agree waits until the world is as the model says. What commits without a signal to a
// test is looked for; a message that never comes there fails.
func (l *life) agree(rt *rapid.T, key string, wait time.Duration) {
	want := l.of(key).String()
	deadline := time.Now().Add(wait)
	for {
		m, err := l.look(key)
		if err != nil {
			rt.Fatalf("look at %s: %v", key, err)
		}
		if m.String() == want {
			return
		}
		if !time.Now().Before(deadline) {
			rt.Fatalf("message %s of a %+v handler:\nthe model has %s\nthe store has %s", key, l.kind, want, m)
		}
		time.Sleep(time.Millisecond)
	}
}

type step struct {
	name string
	do   func(l *life, rt *rapid.T, key string, m *message) error
}

func (s step) String() string { return s.name }

var steps = []step{
	{"deliver", (*life).stepDeliver},
	{"deliver three at once", (*life).stepDeliverThree},
	{"deliver two payloads at once", (*life).stepDeliverTwo},
	{"due", (*life).stepDue},
	{"redrive", (*life).stepRedrive},
	{"redrive twice at once", (*life).stepRedriveTwice},
	{"redrive under a new key", (*life).stepRedriveAs},
	{"discard", (*life).stepDiscard},
	{"age", (*life).stepAge},
	{"prune", (*life).stepPrune},
	{"prune open letters too", (*life).stepPruneOpen},
	{"restart", (*life).stepRestart},
}

func (l *life) step(rt *rapid.T) {
	s := rapid.SampledFrom(steps).Draw(rt, "step")
	key := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key")
	m := l.of(key)
	err := s.do(l, rt, key, m)
	rt.Logf("%s of %s, runs %v: now %s", s.name, key, l.planned, m)
	if err != nil {
		rt.Fatalf("%s of %s: %v", s.name, key, err)
	}
	for key := range l.model {
		l.agree(rt, key, l.waitTimeout)
	}
}

// plan draws what the next runs of key do, tells the world, and returns it for the model.
func (l *life) plan(rt *rapid.T, key string) script {
	s := script(rapid.SliceOfN(rapid.SampledFrom([]outcome{succeed, fail, fail, panics, give, putOff, stale}), 0, 4).Draw(rt, "runs"))
	l.script(key, s)
	l.planned = s
	return s
}

func (l *life) payload(rt *rapid.T) string { return rapid.SampledFrom(payloads).Draw(rt, "payload") }

func (l *life) stepDeliver(rt *rapid.T, key string, m *message) error {
	p := l.payload(rt)
	m.deliver(p, l.plan(rt, key))
	return l.deliver(key, p)
}

func (l *life) stepDeliverThree(rt *rapid.T, key string, m *message) error {
	p := l.payload(rt)
	m.deliver(p, l.plan(rt, key))
	return l.deliver(key, p, p, p)
}

// stepDeliverTwo lets either come first: the row says which one did.
func (l *life) stepDeliverTwo(rt *rapid.T, key string, m *message) error {
	first, second := payloads[0], payloads[1]
	s := l.plan(rt, key)
	if err := l.deliver(key, first, second); err != nil {
		return err
	}
	got, err := l.look(key)
	if err != nil {
		return err
	}
	if got.payload == second {
		first, second = second, first
	}
	m.deliver(first, s)
	m.deliver(second, nil)
	return nil
}

func (l *life) stepDue(rt *rapid.T, key string, m *message) error {
	m.due(l.plan(rt, key))
	return l.exec(l.database.due, key)
}

func (l *life) redriveNow(key string) error {
	_, err := redrive.New(l.st).Redrive(l.ctx, redrive.Request{Filter: dlq.Filter{Consumer: l.name, Key: key}, By: "ann"})
	return err
}

func (l *life) stepRedrive(rt *rapid.T, key string, m *message) error {
	m.redrive(l.plan(rt, key))
	return l.redriveNow(key)
}

// stepRedriveTwice redrives twice at the same time. A message that succeeds is sent again
// once. An unreadable message is left out: it may be a new letter before the second redrive,
// which then sends that one again too.
func (l *life) stepRedriveTwice(rt *rapid.T, key string, m *message) error {
	if m.payload == unreadable {
		return l.stepRedrive(rt, key, m)
	}
	l.script(key, nil)
	m.redrive(nil)
	other := make(chan error, 1)
	go func() { other <- l.redriveNow(key) }()
	err := l.redriveNow(key)
	if failed := <-other; err == nil {
		err = failed
	}
	return err
}

func (l *life) stepRedriveAs(rt *rapid.T, key string, m *message) error {
	if l.kind.strict || l.kind.handler == "leased" {
		return nil // it has the order key of the message whose conflict it was, and may wait behind it
	}
	letters, err := redrive.New(l.st).List(l.ctx, dlq.Filter{Consumer: l.name, Key: key, Class: dlq.Conflict}, 0, 1000)
	if err != nil || len(letters) == 0 {
		return err
	}
	fresh := fmt.Sprint(key, "+", len(l.model))
	m.redriveAs(l.of(fresh), l.plan(rt, fresh))
	oldest := letters[len(letters)-1].LetterID
	_, err = redrive.New(l.st).Redrive(l.ctx, redrive.Request{Filter: dlq.Filter{IDs: []int64{oldest}}, NewKey: fresh, By: "ann"})
	return err
}

func (l *life) stepDiscard(_ *rapid.T, key string, m *message) error {
	m.discard()
	_, err := redrive.New(l.st).Discard(l.ctx, redrive.Request{Filter: dlq.Filter{Consumer: l.name, Key: key}, By: "ann", Reason: "why not"})
	return err
}

func (l *life) stepAge(_ *rapid.T, key string, m *message) error {
	m.age()
	return l.exec(l.database.age, key)
}

func (l *life) stepPrune(*rapid.T, string, *message) error     { return l.prune(0) }
func (l *life) stepPruneOpen(*rapid.T, string, *message) error { return l.prune(200 * time.Hour) }

func (l *life) prune(open time.Duration) error {
	for _, m := range l.model {
		m.prune(open > 0)
	}
	plan := inbox.Plan{Window: 300 * time.Hour, DeadLetters: 200 * time.Hour, OpenLetters: open}
	_, err := prune.Round(l.ctx, l.st.Operations().Pruner, plan, l.name, "", prune.Options{})
	return err
}

func (l *life) stepRestart(*rapid.T, string, *message) error {
	if err := l.halt(); err != nil {
		return err
	}
	return l.start()
}
