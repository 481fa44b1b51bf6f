package amqp_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/amqp"
)

// Rule: connections that the broker closes are made again; what was under way comes
// again, and nothing that was published without an error is missing. Fault 49.
func TestConnectionsAreClosed(t *testing.T) {
	b := setupAlone(t)
	b.declare(amqp.Quorum, nil)
	messages := b.subscribe(b.source(amqp.SourceOptions{}))
	sink := b.sink(amqp.SinkOptions{})
	b.must(sink.Publish(b.queue, msg("before", "x")))
	held := b.next(messages)
	b.ctl("close_all_connections", "test")
	b.admin = b.channel()
	again := b.next(messages)
	if again.UUID != "before" || again.Metadata.Get(amqp.RedeliveredKey) != "true" {
		t.Errorf("got %q, metadata %v", again.UUID, again.Metadata)
	}
	held.Ack() // of a channel that has ended: the broker hears nothing, and nothing else is settled
	again.Ack()
	b.eventually("publishing works again", func() bool { return sink.Publish(b.queue, msg("after", "x")) == nil })
	for {
		m := b.next(messages)
		m.Ack()
		if m.UUID == "after" {
			break
		}
	}
	b.left(0)
	if log := b.log.String(); !strings.Contains(log, "it is opened again") || !strings.Contains(log, "is open again") {
		t.Errorf("the log says:\n%s", log)
	}
}

// tally knows which messages were published and have not come.
type tally struct {
	mu       sync.Mutex
	missing  map[string]bool
	received map[string]bool
}

func (t *tally) published(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.received[id] {
		t.missing[id] = true
	}
}

func (t *tally) take(m *message.Message) {
	m.Ack()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.received[m.UUID] = true
	delete(t.missing, m.UUID)
}

func (t *tally) left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.missing)
}

// Rule: when the broker is killed and started again under load, every message whose
// Publish said nil is there.
func TestRestartUnderLoad(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Quorum, nil)
	// A server that has just been started may not have elected the queue's leader.
	messages := b.subscribe(b.source(amqp.SourceOptions{MissingGrace: waitTimeout}))
	sink := b.sink(amqp.SinkOptions{})
	all := &tally{missing: make(map[string]bool), received: make(map[string]bool)}
	stop := make(chan struct{})
	var load sync.WaitGroup
	for w := range 4 {
		load.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				if id := fmt.Sprintf("%d-%d", w, i); sink.Publish(b.queue, msg(id, "x")) == nil {
					all.published(id)
				}
			}
		})
	}
	for range 100 {
		all.take(b.next(messages))
	}
	restarted := make(chan error, 1)
	go func() { restarted <- restart(b.ctx) }()
	for over := false; !over; {
		select {
		case m, open := <-messages:
			if !open {
				b.Fatalf("the subscription has ended; the log says:\n%s", b.log.String())
			}
			all.take(m)
		case err := <-restarted:
			b.must(err)
			over = true
		}
	}
	b.admin = b.channel()
	b.eventually("publishing works again", func() bool { return sink.Publish(b.queue, msg("last", "x")) == nil })
	all.published("last")
	close(stop)
	load.Wait()
	for all.left() > 0 {
		all.take(b.next(messages))
	}
	t.Logf("%d messages came", len(all.received))
}

// Rule: a broker that is short of memory blocks publishers. Publish fails in time instead
// of waiting, and works again after it. Fault 49.
func TestMemoryAlarm(t *testing.T) {
	b := setupAlone(t)
	b.declare(amqp.Classic, nil)
	server := b.server()
	server.Timeout = 3 * time.Second
	sink := b.sink(amqp.SinkOptions{Server: server, ConfirmTimeout: time.Second})
	b.eventually("publishing works", func() bool { return sink.Publish(b.queue, msg("before", "x")) == nil })
	lift := b.change("vm_memory_monitor:set_vm_memory_high_watermark(0.0001)", "vm_memory_monitor:set_vm_memory_high_watermark(0.4)")
	b.eventually("the broker says that it is blocked", func() bool {
		err := sink.Publish(b.queue, msg("during", "x"))
		if err != nil && !errors.Is(err, amqp.ErrNotConfirmed) && !errors.Is(err, amqp.ErrBlocked) {
			t.Errorf("publish while it is blocked: %v", err)
		}
		return errors.Is(err, amqp.ErrBlocked)
	})
	// A socket without a reader takes no large message. Guard: bounded.
	patient := b.sink(amqp.SinkOptions{Server: server, ConfirmTimeout: 2 * waitTimeout})
	began := time.Now()
	if err := patient.Publish(b.queue, msg("large", strings.Repeat("x", 15<<20))); err == nil || time.Since(began) > waitTimeout {
		t.Errorf("a large message while it is blocked: %v after %s", err, time.Since(began))
	}
	// Calls that begin before the broker has said so find that it reads nothing any more.
	// Guard: open does not wait for ever for a channel.
	many, calls := b.sink(amqp.SinkOptions{Server: server, ConfirmTimeout: time.Second}), sync.WaitGroup{}
	for i := range 8 {
		calls.Go(func() {
			if err := many.Publish(b.queue, msg(fmt.Sprint("many ", i), "x")); err == nil {
				t.Error("published while it is blocked")
			}
		})
	}
	if !within(&calls, waitTimeout) {
		b.Fatal("Publish does not return while the broker is blocked")
	}
	// Nor does Close, which the broker does not answer.
	calls.Go(func() { b.must(many.Close()) })
	if !within(&calls, waitTimeout) {
		b.Fatal("Close does not return while the broker is blocked")
	}
	lift()
	b.eventually("publishing works again", func() bool { return sink.Publish(b.queue, msg("after", "x")) == nil })
}

func within(calls *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() { // ends with the calls
		calls.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}

// Rule: past consumer_timeout the broker closes the channel; it is opened again, the
// message comes again, and the late ack settles nothing. Fault 50.
func TestConsumerTimeout(t *testing.T) {
	b := setupAlone(t)
	b.declare(amqp.Classic, nil)
	lift := b.change("application:set_env(rabbit, consumer_timeout, 1000)", "application:set_env(rabbit, consumer_timeout, 1800000)")
	messages := b.subscribe(b.source(amqp.SourceOptions{}))
	lift()
	b.send(amqp091.Publishing{MessageId: "slow"})
	late := b.next(messages)
	again := b.next(messages)
	if again.UUID != "slow" || again.Metadata.Get(amqp.RedeliveredKey) != "true" {
		t.Errorf("got %q, metadata %v", again.UUID, again.Metadata)
	}
	late.Ack()
	again.Ack()
	b.left(0)
	if !strings.Contains(b.log.String(), "PRECONDITION_FAILED") {
		t.Errorf("the log does not say why:\n%s", b.log.String())
	}
}
