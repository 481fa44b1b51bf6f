package consumer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
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
	config.Alert = log.hook
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
	l.texts[a.Kind] = append(l.texts[a.Kind], a.Text)
	return nil
}

func (l *alertLog) of(kind alerts.Kind) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.texts[kind])
}

func (b *bundle) pauses() instance.Pauses { return b.st.Operations().Pauses }

// A paused consumer takes nothing: neither from its source nor from the backlog. What it
// had taken is worked off. It is ready, and says that it is paused; a mark by somebody
// else is seen without a word to this process.
func TestPause(t *testing.T) {
	onEachStore(t, func(b *bundle) {
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
		if _, oneWriter := b.st.(*sqlite.Store); oneWriter { // the mark waits for the handler's transaction
			close(goOn)
			b.acked(first)
		}
		if _, err := b.pauses().Pause(b.Context(), instance.Pause{Consumer: "test", By: "ana", Reason: "canary"}); err != nil {
			b.Fatal(err)
		}
		b.eventually("the pause is seen", func() bool { _, paused := c.Paused(); return paused })
		second := b.deliver("second", `{}`)
		if _, oneWriter := b.st.(*sqlite.Store); !oneWriter {
			close(goOn) // what had been taken is worked off
			b.acked(first)
		}
		b.untouched(c, second)
		if p, _ := c.Paused(); p.By != "ana" || p.Reason != "canary" || c.Ready() != nil || c.Stats().Delivered != 1 {
			b.Errorf("%+v, ready %v, %+v", p, c.Ready(), c.Stats())
		}
		b.eventually("an alert", func() bool { return log.of(alerts.Paused) == 1 })
		if err := c.Resume(b.Context(), "ben"); err != nil {
			b.Fatal(err)
		}
		b.acked(second, b.deliver("third", `{}`))
		b.eventually("an alert", func() bool { return log.of(alerts.Resumed) == 1 })
		if _, paused := c.Paused(); paused {
			b.Error("still paused")
		}
		if p, err := b.pauses().Get(b.Context(), "test"); err != nil || p.ResumedBy != "ben" {
			b.Errorf("%+v, %v", p, err)
		}
	})
}

// untouched waits until c has looked again several times, and wants m to lie where it
// did.
func (b *bundle) untouched(c *consumer.Consumer, m interface {
	Acked() <-chan struct{}
	Nacked() <-chan struct{}
}) {
	b.Helper()
	delivered := c.Stats().Delivered
	select {
	case <-m.Acked():
		b.Error("a paused consumer took a message")
	case <-m.Nacked():
		b.Error("a paused consumer gave a message back")
	case <-time.After(300 * time.Millisecond): // nothing signals that nothing happens
	}
	if c.Stats().Delivered != delivered {
		b.Error("a paused consumer took a message")
	}
}

// A row that waits in the backlog when the pause begins is not begun.
func TestPauseHoldsTheBacklog(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c, _ := b.pausing(func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.Attempt == 1 {
				return retry.After(200*time.Millisecond, errBoom)
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		b.acked(b.deliver("later", `{}`))
		if err := c.Pause(b.Context(), "ana", ""); err != nil {
			b.Fatal(err)
		}
		b.eventually("the row is due", func() bool {
			d, err := b.st.Backlog().Depth(b.Context(), "test")
			return err == nil && d.Ready == 1
		})
		time.Sleep(200 * time.Millisecond) // nothing signals that nothing happens
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
func TestPauseSurvivesARestart(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c, _ := b.pausing(insert)
		if err := c.Pause(b.Context(), "ana", ""); err != nil { // before Run
			b.Fatal(err)
		}
		for range 2 {
			c, log := b.pausing(insert)
			b.start(c)
			b.eventually("it is ready", func() bool { return c.Ready() == nil })
			b.eventually("an alert", func() bool { return log.of(alerts.Paused) == 1 })
			m := b.deliver("m", `{}`)
			b.untouched(c, m)
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

// blind is a store that cannot say who is paused, which a real one does only with
// everything else.
type blind struct {
	store.Store
	mu  sync.Mutex
	err error
	n   int
}

func (s *blind) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.n = err, 0
}

func (s *blind) looks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
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
	p.s.n++
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
	b := setupSQLite(t)
	st := &blind{Store: b.st}
	b.st = st
	c, _ := b.pausing(insert)
	b.start(c)
	b.acked(b.deliver("first", `{}`))
	if err := c.Pause(t.Context(), "ana", ""); err != nil {
		t.Fatal(err)
	}
	st.set(errors.New("no answer"))
	b.eventually("several looks", func() bool { return st.looks() > 3 })
	m := b.deliver("m", `{}`)
	b.untouched(c, m)
	if err := c.Resume(t.Context(), "ana"); err == nil {
		t.Error("no error although the mark cannot be read")
	}
	if err := b.halt(); err != nil {
		t.Fatal(err)
	}
	c, _ = b.pausing(insert)
	b.start(c)
	b.eventually("several looks", func() bool { return st.looks() > 6 })
	b.untouched(c, m)
	st.set(nil)
	b.acked(m)
}
