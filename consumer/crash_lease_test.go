package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
)

// slowTopic is handled under leases.
const slowTopic = "reports.due"

// A leased handler that kills its process is found by its lost leases. Neither a message
// that other handlers run meanwhile is accused, nor one that was leased beside it.
//
//evidence:lease-lost
func TestLeasedKillerIsFound(t *testing.T) {
	onEachDatabase(t, func(c *crash) {
		ids, slow := series(20), []string{"s0", "s1", "killer", "s3", "s4"}
		killed := c.restart(orders{Messages: ids, Leased: slow, Kill: "killer"})
		if killed != 3 {
			c.Errorf("killed %d times, want 3", killed)
		}
		c.appliedOnce(append(ids, slow...), "killer")
		letters := c.letters(dlq.Crashed)
		if len(letters) != 1 || letters[0].Delivery.Key != "killer" || c.state("killer") != inbox.Dead || c.effects("killer") != 0 {
			c.Errorf("%+v, state %s", letters, c.state("killer"))
		}
	})
}

// With a killer of another handler in the same process both are found, and no other.
//
//evidence:killer
func TestKillersOfBothKindsAreFound(t *testing.T) {
	onEachDatabase(t, func(c *crash) {
		ids, slow := series(20), []string{"s0", "killer", "s2"}
		if killed := c.restart(orders{Messages: ids, Leased: slow, Kill: "killer", KillToo: "m7"}); killed < 6 {
			c.Errorf("killed %d times", killed)
		}
		for _, id := range append(ids, slow...) {
			want := 1
			if id == "killer" || id == "m7" {
				want = 0
			}
			if n := c.effects(id); n != want {
				c.Errorf("%s was applied %d times", id, n)
			}
		}
		if letters := c.letters(dlq.Crashed); len(letters) != 2 {
			c.Errorf("%+v", letters)
		}
	})
}

// suspect makes suspects of messages, as if a process had died that had marked them.
func (b *bundle) suspect(handler string, ids ...string) {
	b.Helper()
	o := b.st.Operations()
	dead := instance.Instance{ID: "dead", Consumer: "test"}
	m := instance.Mark{Instance: dead.ID}
	for _, id := range ids {
		m.Messages = append(m.Messages, instance.HashOf(inbox.ID{Scope: "test/" + handler, Key: id}))
	}
	counted := false
	err := errors.Join(o.Instances.Start(b.Context(), dead), o.Marks.Mark(b.Context(), m))
	b.eventually("its death is counted", func() bool {
		var failed error
		counted, failed = o.Marks.CountDeath(b.Context(), dead.ID, 0)
		err = errors.Join(err, failed)
		return counted || failed != nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// While a suspect runs, it is the only work of its process: no leased work begins, and no
// other message.
//
//evidence:suspect
func TestSuspectRunsAlone(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		b.suspect(topic, "suspect")
		begun, goOn := make(chan struct{}), make(chan struct{})
		var others atomic.Int32
		c := b.consumer(b.config())
		consumer.Hurry(c, 20)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.ID != "suspect" {
				others.Add(1)
				return insert(ctx, tx, m)
			}
			close(begun)
			<-goOn
			if n := others.Load(); n != 0 {
				b.Errorf("%d others ran beside the suspect", n)
			}
			return insert(ctx, tx, m)
		})
		consumer.HandleLeased(c, slowTopic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			others.Add(1)
			return effectsOf(m), nil
		})
		b.start(c)
		suspect := b.deliver("suspect", `{}`)
		<-begun
		slow, quick := b.src.Deliver(slowTopic, "slow", []byte(`{}`), nil), b.deliver("quick", `{}`)
		time.Sleep(100 * time.Millisecond) // they have time to begin, if they may
		close(goOn)
		b.acked(suspect, slow, quick)
		b.eventually("the leased work is done", func() bool { return b.effects("slow") == 1 })
		suspects, err := b.st.Operations().Marks.Suspects(b.Context(), "test", 10)
		if err != nil || len(suspects) != 0 {
			b.Errorf("%+v, %v: its handler returned, so it is no suspect any more", suspects, err)
		}
	})
}

// In strict order nothing overtakes a suspect: what comes after it waits until it has run.
func TestNothingOvertakesASuspect(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		b.exec("CREATE TABLE lists (customer TEXT, pos INTEGER, seq INTEGER)")
		b.suspect(topic, "m2", "m3", "m5")
		config := b.config()
		config.OrderKey, config.Strict = ofCustomer, true
		c := b.consumer(config)
		consumer.Hurry(c, 20)
		consumer.Handle(c, topic, appendTo)
		var all []*message.Message
		for n := range 8 {
			all = append(all, b.deliverFor("c", fmt.Sprint("m", n), n))
		}
		b.start(c)
		b.acked(all...)
		b.eventually("all are applied", func() bool { return len(b.sequence("c")) == 8 })
		if got := b.sequence("c"); !slices.Equal(got, upTo(8)) {
			b.Errorf("applied in the order %v", got)
		}
	})
}

// Where a suspect takes long, other work goes on beside it. (On SQLite it would wait for the
// one lock that the suspect has.)
//
//evidence:suspect
func TestOthersGoOnBesideASlowSuspect(t *testing.T) {
	t.Parallel()
	b := setupPostgres(t)
	b.suspect(slowTopic, "suspect")
	goOn := make(chan struct{})
	c := b.consumer(b.config())
	consumer.Hurry(c, 20) // half a second
	consumer.Handle(c, slowTopic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		<-goOn
		return nil
	})
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		close(goOn) // or the suspect never ends
		return nil
	})
	b.start(c)
	b.acked(b.src.Deliver(slowTopic, "suspect", []byte(`{}`), nil), b.deliver("other", `{}`))
}

// A stop while a message waits for its turn behind one that runs does not wait for it.
//
//evidence:suspect
func TestStopWaitsForNobodysTurn(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		b.suspect(topic, "first", "second")
		begun, goOn := make(chan struct{}), make(chan struct{})
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			close(begun) // twice is a panic
			<-goOn
			return insert(ctx, tx, m)
		})
		b.start(c)
		first := b.deliver("first", `{}`)
		<-begun
		second := b.deliver("second", `{}`)
		b.eventually("it waits", func() bool { return c.Stats().Delivered == 2 })
		b.stop()
		select {
		case <-second.Nacked():
		case <-time.After(20 * time.Second):
			b.Error("the second was not given back while the first ran")
		}
		close(goOn)
		b.acked(first)
	})
}

// On SQLite a handler that holds the one lock keeps its own process from beating. That
// ends nothing and is said once; the process beats again when the handler has returned.
func TestLockThatOutlastsBeats(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	log := new(textLog)
	config := b.config()
	config.Logger = slog.New(slog.NewTextHandler(log, nil))
	config.HandlerTimeout = time.Minute
	c := b.consumer(config)
	consumer.Hurry(c, 20)
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if err := insert(ctx, tx, m); err != nil || m.ID != "long" {
			return err
		}
		b.eventually("a beat fails", func() bool { return log.count("cannot beat") > 0 })
		list, err := b.st.Operations().Instances.List(ctx, "test")
		if err != nil || len(list) != 1 || !list[0].Dead(instance.Missed/20) {
			b.Errorf("%+v, %v: want an instance that looks dead", list, err)
		}
		return nil
	})
	b.start(c)
	b.acked(b.deliver("long", `{}`))
	b.eventually("it beats again", func() bool { return log.count("can beat again") == 1 })
	b.acked(b.deliver("next", `{}`))
	if n := log.count("level=WARN"); n != 1 || c.Ready() != nil || c.Alive() != nil {
		t.Errorf("ready %v, alive %v, %d warnings:\n%s", c.Ready(), c.Alive(), n, log.text.String())
	}
}

// textLog keeps what was logged.
type textLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *textLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *textLog) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}
