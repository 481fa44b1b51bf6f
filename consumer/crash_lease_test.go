package consumer_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

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

// While a process is cautious it begins no leased work, however much waits, and handles
// the messages of other handlers; leased work begins when caution ends.
func TestCautionBeginsNoLeasedWork(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		if err := b.st.Operations().Instances.Start(b.Context(), instance.Instance{ID: "dead", Consumer: "test"}); err != nil {
			b.Fatal(err)
		}
		var mu sync.Mutex
		var begun, handled []instance.Caution
		c := b.consumer(b.config())
		consumer.Hurry(c, 20)
		note := func(list *[]instance.Caution) {
			mu.Lock()
			defer mu.Unlock()
			*list = append(*list, c.Caution())
		}
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			note(&handled)
			return insert(ctx, tx, m)
		})
		consumer.HandleLeased(c, slowTopic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			note(&begun)
			return effectsOf(m), nil
		})
		b.start(c)
		b.acked(b.src.Deliver(slowTopic, "slow", []byte(`{}`), nil))
		b.acked(b.deliver("quick", `{}`))
		b.eventually("the leased work is done", func() bool { return b.effects("slow") == 1 })
		mu.Lock()
		defer mu.Unlock()
		if len(handled) != 1 || handled[0] != instance.Cautious {
			b.Errorf("the other message was handled at %v", handled)
		}
		if len(begun) != 1 || begun[0] != instance.Normal {
			b.Errorf("leased work began at %v", begun)
		}
	})
}

// A stop while a message waits for its turn behind one that runs does not wait for it.
func TestStopWaitsForNobodysTurn(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		if err := b.st.Operations().Instances.Start(b.Context(), instance.Instance{ID: "dead", Consumer: "test"}); err != nil {
			b.Fatal(err)
		}
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
