package storetest

import (
	"context"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var modelTests = []test{
	{name: "random lives of messages agree with a model", run: modelRandom},
	{name: "random orders agree with a model", run: modelOrder},
}

// message is what the model knows of one message.
type message struct {
	state    inbox.State // "" where it was never taken
	effects  int
	attempts int
	letters  int // of any state
	delayed  bool
	lastOpen int64 // the open letter; 0 if none
}

// lives is the model of some messages of a consumer, beside the store that has
// them.
type lives struct {
	b        *bundle
	consumer string
	scope    string
	messages map[string]*message
}

//evidence:life
func modelRandom(b *bundle) {
	runs := 0
	rapid.Check(b.T, func(rt *rapid.T) {
		runs++
		l := &lives{b: b, consumer: fmt.Sprint("run", runs), messages: make(map[string]*message)}
		l.scope = l.consumer + "/orders"
		steps := rapid.IntRange(1, 30).Draw(rt, "steps")
		for range steps {
			key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "key")
			step := rapid.SampledFrom(modelSteps).Draw(rt, "step")
			crash := rapid.IntRange(0, 4).Draw(rt, "crash") == 0
			if err := l.run(key, step, crash); err != nil {
				rt.Fatalf("%s of %s, crash %t: %v", step.name, key, crash, err)
			}
		}
		for key := range l.messages {
			if err := l.compare(key); err != nil {
				rt.Fatalf("%s: %v", key, err)
			}
		}
	})
}

// modelStep does one thing to a message in t, and returns what the message is if t
// commits. m is a copy.
type modelStep struct {
	name string
	run  func(l *lives, t *txn.Txn, key string, m message) (message, error)
}

func (s modelStep) String() string { return s.name }

var modelSteps = []modelStep{
	{"deliver", (*lives).deliver},
	{"deliver, fail, wait", (*lives).failWaiting},
	{"deliver, fail, die", (*lives).failDead},
	{"drain, done", (*lives).drainDone},
	{"drain, fail, wait", (*lives).drainWaiting},
	{"drain, fail, die", (*lives).drainDead},
	{"promote", (*lives).promote},
	{"redrive", (*lives).redrive},
	{"discard", (*lives).discard},
}

// run does a step in a transaction. A crash rolls back, whatever was done.
func (l *lives) run(key string, step modelStep, crash bool) error {
	m := l.messages[key]
	if m == nil {
		m = new(message)
		l.messages[key] = m
	}
	t, err := l.b.Store.Begin(l.b.ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	after, err := step.run(l, t, key, *m)
	if err != nil || crash {
		return err
	}
	if err := l.b.Store.Commit(l.b.ctx, t, nil); err != nil {
		return err
	}
	*m = after
	return nil
}

func (l *lives) id(key string) inbox.ID { return inbox.ID{Scope: l.scope, Key: key} }

func (l *lives) ctx() context.Context { return l.b.ctx }

// compare looks at the store from outside.
func (l *lives) compare(key string) error {
	want, got := *l.messages[key], message{}
	entries, err := l.b.Store.Inbox().Find(l.ctx(), key)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Scope == l.scope {
			got.state = e.State
		}
	}
	attempts, err := l.b.Store.Inbox().Attempts(l.ctx(), l.id(key))
	if err != nil {
		return err
	}
	letters, err := l.b.Store.Letters().List(l.ctx(), dlq.Filter{Consumer: l.consumer, Key: key, AnyState: true}, 0, 100)
	if err != nil {
		return err
	}
	for _, letter := range letters {
		if letter.State == dlq.Open {
			got.lastOpen = letter.LetterID
		}
	}
	got.attempts, got.letters, got.delayed = len(attempts), len(letters), want.delayed
	got.effects = l.b.count(l.b.DB, "SELECT count(*) FROM {{schema}}.effects WHERE scope = $1 AND key = $2", l.scope, key)
	if got != want {
		return fmt.Errorf("the store has %+v, the model %+v", got, want)
	}
	if (got.effects == 1) != (got.state == inbox.Done) || got.effects > 1 {
		return fmt.Errorf("%d effects in state %q", got.effects, got.state)
	}
	return nil
}

// moved checks that a transition happened exactly where the model expects it.
func (l *lives) moved(t *txn.Txn, key string, m message, from, to inbox.State) (bool, error) {
	ids, err := l.b.Store.Inbox().Transition(l.ctx(), t, []inbox.ID{l.id(key)}, from, to)
	if err != nil {
		return false, err
	}
	if (len(ids) == 1) != (m.state == from) {
		return false, fmt.Errorf("transition from %s moved %v of a message in state %q", from, ids, m.state)
	}
	return len(ids) == 1, nil
}

func (l *lives) effect(t *txn.Txn, key string) error {
	_, err := t.ExecContext(l.ctx(), l.b.statement("INSERT INTO {{schema}}.effects (scope, key) VALUES ($1, $2)"), l.scope, key)
	return err
}

// fail records an attempt, whose number the model knows.
func (l *lives) fail(t *txn.Txn, key string, m *message) error {
	a := attempt(key)
	a.ID = l.id(key)
	n, err := l.b.Store.Inbox().AddAttempts(l.ctx(), t, []inbox.Attempt{a})
	m.attempts++
	if err == nil && n[0] != m.attempts {
		err = fmt.Errorf("attempt has number %d, want %d", n[0], m.attempts)
	}
	return err
}

func (l *lives) deadLetter(t *txn.Txn, key string, m *message) error {
	letter := letter(key)
	letter.Consumer, letter.Delivery.Scope = l.consumer, l.scope
	got, err := l.b.Store.Letters().Insert(l.ctx(), t, []dlq.Letter{letter})
	if err == nil && !got[0].Written {
		err = fmt.Errorf("letter %d is open already", got[0].LetterID)
	}
	if err != nil {
		return err
	}
	m.state, m.lastOpen = inbox.Dead, got[0].LetterID
	m.letters++
	return nil
}

func (l *lives) put(t *txn.Txn, key string) error {
	i := item(key)
	i.Consumer, i.Delivery.Scope, i.Delivery.OrderKey = l.consumer, l.scope, key
	return l.b.Store.Backlog().Put(l.ctx(), t, []backlog.Item{i})
}

const soon = time.Microsecond
