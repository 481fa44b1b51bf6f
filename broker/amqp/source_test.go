package amqp_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/amqp"
)

// Trap: a message of amqp-publish, which knows neither Watermill nor a message-id, has no
// id, and none is made up.
func TestForeignSender(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Classic, nil)
	b.tool("amqp-publish", "--exchange=", "--routing-key="+b.queue, "--content-type=text/plain", "--body=hello")
	m := b.next(b.subscribe(b.source(amqp.SourceOptions{})))
	if m.UUID != "" || string(m.Payload) != "hello" || m.Metadata.Get("content-type") != "text/plain" {
		t.Errorf("got id %q, payload %q, metadata %v", m.UUID, m.Payload, m.Metadata)
	}
	if at := headrace.ArrivalFrom(m.Context()).Coordinates; at != (headrace.Coordinates{Broker: "amqp", Topic: b.queue}) {
		t.Errorf("coordinates %+v", at)
	}
	m.Ack()
	b.left(0)
}

// Trap: every redelivery of a quorum queue has the header x-delivery-count, a number, and
// the official adapter then loops. Guard: text. And x-death, a table in an array.
func TestRedeliveryOfQuorumQueue(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Quorum, nil)
	b.send(amqp091.Publishing{MessageId: "m1", Body: []byte("{}"), Headers: amqp091.Table{
		"x-death": []any{amqp091.Table{"count": int64(3), "queue": "q", "time": time.Unix(1700000000, 0)}},
	}})
	messages := b.subscribe(b.source(amqp.SourceOptions{}))
	first := b.next(messages)
	if first.Metadata.Get(amqp.RedeliveredKey) != "" {
		t.Errorf("the first delivery counts as one that came again: %v", first.Metadata)
	}
	first.Nack()
	again := b.next(messages)
	if again.UUID != "m1" || again.Metadata.Get(amqp.RedeliveredKey) != "true" || again.Metadata.Get("x-delivery-count") != "1" ||
		!strings.Contains(again.Metadata.Get("x-death"), `"count":3`) {
		t.Errorf("id %q, metadata %v", again.UUID, again.Metadata)
	}
	again.Ack()
	b.left(0)
}

// Rule: many in flight, and each settled on its own. Trap: the official adapter has one.
//
//evidence:amqp
func TestManyInFlightEachSettled(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Quorum, nil)
	const n = 50
	for i := range n {
		b.must(b.admin.PublishWithContext(b.ctx, "", b.queue, true, false, amqp091.Publishing{MessageId: fmt.Sprint(i)}))
	}
	s := b.source(amqp.SourceOptions{Prefetch: n})
	messages := b.subscribe(s)
	held := make([]*message.Message, n)
	for i := range held {
		held[i] = b.next(messages)
	}
	for i := range held { // every other one, from the end
		if k := n - 1 - i; k%2 == 0 {
			held[k].Ack()
		}
	}
	b.must(s.Close())
	b.left(n / 2)
	again := b.subscribe(b.source(amqp.SourceOptions{}))
	for range n / 2 {
		m := b.next(again)
		var id int
		if _, err := fmt.Sscan(m.UUID, &id); err != nil || id%2 == 0 {
			t.Errorf("message %q comes again, which was acknowledged", m.UUID)
		}
		m.Ack()
	}
	b.left(0)
}

// Rule: what was acknowledged before the end is told to the broker. Trap: a quorum queue
// forgets acks that come just before their channel closes. Guard: end cancels first.
func TestCloseTellsWhatWasSettled(t *testing.T) {
	for _, kind := range []amqp.Kind{amqp.Classic, amqp.Quorum} {
		t.Run(string(kind), func(t *testing.T) {
			b := setup(t)
			b.declare(kind, nil)
			const n = 200
			many := make([]*message.Message, n)
			for i := range many {
				many[i] = msg(fmt.Sprint(i), "x")
			}
			b.must(b.sink(amqp.SinkOptions{}).Publish(b.queue, many...))
			s := b.source(amqp.SourceOptions{Prefetch: n})
			messages := b.subscribe(s)
			b.next(messages) // keeps its ack from standing for those of the others
			for range n - 1 {
				b.next(messages).Ack()
			}
			b.must(s.Close())
			b.must(s.Close())
			b.left(1)
			if m := b.next(b.subscribe(b.source(amqp.SourceOptions{}))); m.UUID != "0" {
				t.Errorf("message %s comes again, which was acknowledged", m.UUID)
			}
			if _, err := s.Subscribe(b.ctx, b.queue); !errors.Is(err, amqp.ErrClosed) {
				t.Errorf("a closed source subscribes: %v", err)
			}
		})
	}
}

// Trap: nothing holds back a message that is nacked for ever. Guard: NackPause.
func TestNackDoesNotStorm(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Classic, nil)
	b.send(amqp091.Publishing{MessageId: "m1"})
	messages := b.subscribe(b.source(amqp.SourceOptions{NackPause: 200 * time.Millisecond}))
	began := time.Now()
	for range 4 {
		b.next(messages).Nack()
	}
	if took := time.Since(began); took < 3*200*time.Millisecond {
		t.Errorf("four deliveries of a nacked message in %s", took)
	}
}

// Rule: a queue that is deleted ends the subscription, and the log says so. Fault 53.
func TestDeletedQueueEndsSubscription(t *testing.T) {
	for _, declare := range []amqp.Kind{"", amqp.Classic} { // what is gone is not made again
		t.Run("declare="+string(declare), func(t *testing.T) {
			b := setup(t)
			b.declare(amqp.Classic, nil)
			messages := b.subscribe(b.source(amqp.SourceOptions{
				Topology: amqp.Topology{Declare: declare}, MissingGrace: 300 * time.Millisecond,
			}))
			_, err := b.admin.QueueDelete(b.queue, false, false, false)
			b.must(err)
			if m := b.next(messages); m != nil {
				t.Fatalf("a message of a deleted queue: %v", m)
			}
			if log := b.log.String(); !strings.Contains(log, "a subscription has ended") {
				t.Errorf("the log says nothing:\n%s", log)
			}
		})
	}
}

// Rule: a pause stops the fetching, keeps what was fetched, and gives it back after
// PauseHold; the rest comes after Resume.
func TestPauseStopsFetching(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Quorum, nil)
	s := b.source(amqp.SourceOptions{PauseHold: 300 * time.Millisecond})
	messages := b.subscribe(s)
	s.Pause(b.queue)
	b.consumers(0)
	b.send(amqp091.Publishing{MessageId: "while paused"})
	b.left(1)
	s.Resume(b.queue)
	first := b.next(messages)
	if first.UUID != "while paused" {
		t.Errorf("got %q", first.UUID)
	}
	b.send(amqp091.Publishing{MessageId: "fetched"})
	b.left(0)
	s.Pause(b.queue)
	b.left(1) // given back, and no other consumer has it
	first.Ack()
	s.Resume(b.queue)
	if m := b.next(messages); m.UUID != "fetched" || !m.Ack() {
		t.Errorf("got %q", m.UUID)
	}
	b.left(0)
}

// Rule: a short pause costs no message a delivery.
func TestShortPauseKeepsWhatWasFetched(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Quorum, nil)
	s := b.source(amqp.SourceOptions{})
	messages := b.subscribe(s)
	sent := 0
	send := func() {
		b.send(amqp091.Publishing{MessageId: fmt.Sprint(sent)})
		sent++
	}
	for range 10 {
		send()
	}
	b.left(0)
	s.Pause(b.queue)
	b.eventually("a message stays in the queue", func() bool {
		send()
		q, err := b.admin.QueueDeclarePassive(b.queue, true, false, false, false, nil)
		b.must(err)
		return q.Messages > 0
	})
	s.Resume(b.queue)
	for i := range sent {
		m := b.next(messages)
		if m.UUID != fmt.Sprint(i) || m.Metadata.Get("x-delivery-count") != "" {
			t.Errorf("message %d: id %q, metadata %v", i, m.UUID, m.Metadata)
		}
		m.Ack()
	}
	b.left(0)
}

// consumers waits until the queue has n consumers.
func (b *bundle) consumers(n int) {
	b.Helper()
	b.eventually(fmt.Sprintf("%d consumers", n), func() bool {
		q, err := b.admin.QueueDeclarePassive(b.queue, true, false, false, false, nil)
		b.must(err)
		return q.Consumers == n
	})
}
