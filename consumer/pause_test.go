package consumer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

// pausing is a consumer whose handler applies messages, and whose alerts are kept.
func (b *bundle) pausing(f consumer.Func[body]) (*consumer.Consumer, *alertLog) {
	b.Helper()
	var log alertLog
	config := b.config()
	config.Alert, config.Alerts.Quiet = log.hook, time.Second
	c := b.consumer(config)
	consumer.Hurry(c, 20)
	consumer.Handle(c, topic, f)
	return c, &log
}

// alertLog keeps the texts of alerts by kind.
type alertLog struct {
	mu    sync.Mutex
	texts map[alerts.Kind][]string
}

func (l *alertLog) hook(_ context.Context, a alerts.Alert) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts == nil {
		l.texts = make(map[alerts.Kind][]string)
	}
	kind := a.Kind
	if a.Phase == alerts.Resolved {
		kind = over(kind)
	}
	l.texts[kind] = append(l.texts[kind], a.Text)
	return nil
}

// over is what an alertLog calls the end of what is reported.
func over(kind alerts.Kind) alerts.Kind { return kind + " is over" }

func (l *alertLog) of(kind alerts.Kind) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.texts[kind])
}

func (b *bundle) pauses() instance.Pauses { return b.st.Operations().Pauses }

// A paused consumer takes nothing: neither from its source nor from the backlog. What it
// had taken is worked off. It is ready, and says that it is paused; a pause that
// another process sets is seen too.
//
//evidence:pause
func TestPause(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		_, oneWriter := b.st.(*sqlite.Store)
		st := b.watched()
		begun, goOn := make(chan struct{}), make(chan struct{})
		var once sync.Once
		c, log := b.pausing(func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.ID == "begun" {
				once.Do(func() { close(begun) })
				<-goOn
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		first := b.deliver("begun", `{}`)
		<-begun
		if oneWriter { // the mark waits for the handler's transaction
			close(goOn)
			b.acked(first)
		}
		if _, err := b.pauses().Pause(b.Context(), instance.Pause{Consumer: "test", By: "ana", Reason: "canary"}); err != nil {
			b.Fatal(err)
		}
		b.eventually("the pause is seen", func() bool { _, paused := c.Paused(); return paused })
		second := b.deliver("second", `{}`)
		if !oneWriter {
			close(goOn) // what had been taken is worked off
			b.acked(first)
		}
		b.untouched(c, st, second)
		if p, _ := c.Paused(); p.By != "ana" || p.Reason != "canary" || c.Ready() != nil || c.Stats().Delivered != 1 {
			b.Errorf("%+v, ready %v, %+v", p, c.Ready(), c.Stats())
		}
		b.eventually("an alert", func() bool { return log.of(alerts.Paused) == 1 })
		if err := c.Resume(b.Context(), "ben"); err != nil {
			b.Fatal(err)
		}
		b.acked(second, b.deliver("third", `{}`))
		b.eventually("an alert", func() bool { return log.of(over(alerts.Paused)) == 1 })
		if _, paused := c.Paused(); paused {
			b.Error("still paused")
		}
		if p, err := b.pauses().Get(b.Context(), "test"); err != nil || p.ResumedBy != "ben" {
			b.Errorf("%+v, %v", p, err)
		}
	})
}

// untouched waits until c has looked again several times, and wants m to lie where it
// did: a look comes after everything that a message sets going.
func (b *bundle) untouched(c *consumer.Consumer, st *blind, m *message.Message) {
	b.Helper()
	delivered := c.Stats().Delivered
	b.more("looks", st.looks)
	select {
	case <-m.Acked():
		b.Error("a paused consumer took a message")
	case <-m.Nacked():
		b.Error("a paused consumer gave a message back")
	default:
	}
	if c.Stats().Delivered != delivered {
		b.Error("a paused consumer took a message")
	}
}

// more waits until n has grown by three: one may have been under way, and what the one
// after it found has been acted upon before the third.
func (b *bundle) more(what string, n func() int) {
	b.Helper()
	before := n()
	b.eventually("more "+what, func() bool { return n() >= before+3 })
}

// A row that waits in the backlog when the pause begins is not begun.
//
//evidence:pause
func TestPauseHoldsTheBacklog(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		st := b.watched()
		c, _ := b.pausing(func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.Attempt == 1 {
				return retry.After(time.Hour, errBoom)
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		b.acked(b.deliver("later", `{}`))
		if err := c.Pause(b.Context(), "ana", ""); err != nil {
			b.Fatal(err)
		}
		b.exec("UPDATE headrace_backlog SET due_at = ready_at")
		b.eventually("the row is due", func() bool {
			d, err := b.st.Backlog().Depth(b.Context(), "test")
			return err == nil && d.Ready == 1
		})
		b.more("polls", st.polls)
		if b.state("later") != inbox.Waiting || b.effects("later") != 0 {
			b.Error("a paused consumer began a row of the backlog")
		}
		if err := c.Resume(b.Context(), "ana"); err != nil {
			b.Fatal(err)
		}
		b.eventually("the row is handled", func() bool { return b.effects("later") == 1 })
	})
}

// A pause survives: a consumer that starts paused takes nothing until it is resumed.
//
//evidence:pause
func TestPauseSurvivesARestart(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		st := b.watched()
		c, _ := b.pausing(insert)
		if err := c.Pause(b.Context(), "ana", ""); err != nil { // before Run
			b.Fatal(err)
		}
		for n := range 2 { // the second one has nothing to tell that is not known
			c, log := b.pausing(insert)
			b.start(c)
			b.eventually("it is ready", func() bool { return c.Ready() == nil })
			b.eventually("an alert", func() bool { return n > 0 || log.of(alerts.Paused) == 1 })
			m := b.deliver("m", `{}`)
			b.untouched(c, st, m)
			if err := b.halt(); err != nil {
				b.Fatal(err)
			}
		}
		c, _ = b.pausing(insert)
		b.start(c)
		if _, err := b.pauses().Resume(b.Context(), "test", "ben"); err != nil {
			b.Fatal(err)
		}
		b.eventually("it takes messages again", func() bool { return b.effects("m") == 1 })
	})
}

// blind is a store that counts the looks for a pause and at the backlog, and on command
// cannot say who is paused, which a real one does only with everything else.
type blind struct {
	store.Store
	mu     sync.Mutex
	err    error
	looked int
	polled int
}

// watched puts a blind store around the bundle's.
func (b *bundle) watched() *blind {
	st := &blind{Store: b.st}
	b.st = st
	return st
}

func (s *blind) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *blind) looks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looked
}

func (s *blind) polls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polled
}

func (s *blind) Backlog() backlog.Tables {
	t := s.Store.Backlog()
	t.Store = countedPolls{t.Store, s}
	return t
}

type countedPolls struct {
	backlog.Store
	s *blind
}

func (p countedPolls) Poll(ctx context.Context, consumer string, marks []int64) (backlog.Poll, error) {
	p.s.mu.Lock()
	p.s.polled++
	p.s.mu.Unlock()
	return p.Store.Poll(ctx, consumer, marks)
}

func (s *blind) Operations() store.Operations {
	o := s.Store.Operations()
	o.Pauses = blindPauses{o.Pauses, s}
	return o
}

type blindPauses struct {
	instance.Pauses
	s *blind
}

func (p blindPauses) Get(ctx context.Context, consumer string) (instance.Pause, error) {
	p.s.mu.Lock()
	p.s.looked++
	err := p.s.err
	p.s.mu.Unlock()
	if err != nil {
		return instance.Pause{}, err
	}
	return p.Pauses.Get(ctx, consumer)
}

// An outage does not unpause, neither one that comes while the consumer is paused nor
// one that it starts in.
func TestOutageDoesNotUnpause(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	st := b.watched()
	c, _ := b.pausing(insert)
	b.start(c)
	b.acked(b.deliver("first", `{}`))
	if err := c.Pause(t.Context(), "ana", ""); err != nil {
		t.Fatal(err)
	}
	st.set(errors.New("no answer"))
	b.more("looks", st.looks)
	m := b.deliver("m", `{}`)
	b.untouched(c, st, m)
	if err := c.Resume(t.Context(), "ana"); err == nil {
		t.Error("no error although the mark cannot be read")
	}
	if err := b.halt(); err != nil {
		t.Fatal(err)
	}
	c, _ = b.pausing(insert)
	b.start(c)
	b.more("looks", st.looks)
	b.untouched(c, st, m)
	st.set(nil)
	b.acked(m)
}
