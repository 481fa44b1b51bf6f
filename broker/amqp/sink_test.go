package amqp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/outbox"
)

func msg(id, payload string) *message.Message {
	m := message.NewMessage(id, []byte(payload))
	m.Metadata.Set("kind", "test")
	return m
}

// Rule: the payload as it is, headers, Watermill's id and message-id, persistent; read by
// a client that is not ours.
func TestPublishedForOthers(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Classic, nil)
	sink := b.sink(amqp.SinkOptions{})
	b.must(sink.Publish(b.queue, msg("id-1", "one"), msg("id-2", "\x00\xff")))
	if out := b.tool("amqp-get", "--queue="+b.queue); out != "one" {
		t.Errorf("amqp-get printed %q", out)
	}
	d, ok, err := b.admin.Get(b.queue, true)
	b.must(err)
	if !ok || string(d.Body) != "\x00\xff" || d.MessageId != "id-2" || d.DeliveryMode != amqp091.Persistent ||
		d.Headers["_watermill_message_uuid"] != "id-2" || d.Headers["kind"] != "test" {
		t.Errorf("published as %+v", d)
	}
}

// Trap: mandatory is off in the official adapter, and returned messages are not read: a
// message to a missing queue is lost (invariant 8, fault 53). Guard: mandatory, match.
//
//evidence:amqp-sink
func TestMissingQueueIsAnError(t *testing.T) {
	b := setup(t)
	sink := b.sink(amqp.SinkOptions{})
	err := sink.Publish(b.queue, msg("1", "a"), msg("2", "b"))
	var failed *amqp.PublishError
	if !errors.Is(err, amqp.ErrReturned) || !errors.As(err, &failed) || len(failed.Failures) != 2 {
		t.Fatalf("publishing to a missing queue: %v", err)
	}
	b.declare(amqp.Classic, nil)
	b.must(sink.Publish(b.queue, msg("1", "a"))) // the same channel serves on
	b.left(1)
}

// Rule: a missing exchange ends the channel, and is an error with the broker's words.
func TestMissingExchangeIsAnError(t *testing.T) {
	b := setup(t)
	sink := b.sink(amqp.SinkOptions{Topology: amqp.Topology{Exchange: "no-" + b.queue}})
	for range 2 {
		err := sink.Publish("topic", msg("1", "a"))
		if !errors.Is(err, amqp.ErrNotConfirmed) || !strings.Contains(err.Error(), "no exchange") {
			t.Errorf("publishing to a missing exchange: %v", err)
		}
	}
}

// Rule: an exchange without a bound queue is an error, unless an option with Unsafe in
// its name says that it is not.
//
//evidence:amqp-sink
func TestUnroutable(t *testing.T) {
	b := setup(t)
	b.must(b.admin.ExchangeDeclare(b.queue, "fanout", true, false, false, false, nil))
	t.Cleanup(func() { _ = b.channel().ExchangeDelete(b.queue, false, false) })
	topology := amqp.Topology{Exchange: b.queue}
	if err := b.sink(amqp.SinkOptions{Topology: topology}).Publish("topic", msg("1", "a")); !errors.Is(err, amqp.ErrReturned) {
		t.Errorf("no queue is bound: %v", err)
	}
	b.must(b.sink(amqp.SinkOptions{Topology: topology, UnsafeUnroutable: true}).Publish("topic", msg("1", "a")))
}

// Rule: a message above the broker's limit is an error of its own call, and those beside
// it are told that they are not confirmed; alone, each of them passes. Fault 48 here.
func TestTooLargeMessage(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Classic, nil)
	sink := b.sink(amqp.SinkOptions{})
	large := msg("large", strings.Repeat("x", 16<<20+1))
	err := sink.Publish(b.queue, msg("1", "a"), large, msg("2", "b"))
	if !errors.Is(err, amqp.ErrNotConfirmed) {
		t.Fatalf("a message above the limit among others: %v", err)
	}
	if err = sink.Publish(b.queue, large); !errors.Is(err, amqp.ErrNotConfirmed) || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a message above the limit: %v", err)
	}
	b.must(sink.Publish(b.queue, msg("1", "a")))
	b.must(sink.Publish(b.queue, msg("2", "b")))
}

// Trap: the broker ends the whole connection for headers that exceed a frame, and with
// it every other call. Guard: marshal counts them.
func TestTooLargeHeaders(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Classic, nil)
	sink := b.sink(amqp.SinkOptions{})
	wide := msg("wide", "")
	wide.Metadata.Set("header", strings.Repeat("x", 128<<10))
	named := msg("named", "")
	named.Metadata.Set(strings.Repeat("n", 256), "x")
	err := sink.Publish(b.queue, msg("1", "a"), wide, named, msg("2", "b"))
	var failed *amqp.PublishError
	if !errors.As(err, &failed) || !errors.Is(err, outbox.ErrTooLarge) || len(failed.Failures) != 2 ||
		failed.Failures[0].Index != 1 || failed.Failures[1].Index != 2 {
		t.Fatalf("headers that the protocol cannot carry: %v", err)
	}
	b.left(2)
	fits := msg("fits", "")
	fits.Metadata.Set("header", strings.Repeat("x", 128<<10-512))
	b.must(sink.Publish(b.queue, fits))
}

// Rule: what the broker refuses (a full queue here) is an error.
//
//evidence:amqp-sink
func TestRefusedMessage(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Classic, amqp091.Table{"x-max-length": int32(1), "x-overflow": "reject-publish"})
	sink := b.sink(amqp.SinkOptions{})
	b.must(sink.Publish(b.queue, msg("1", "a")))
	if err := sink.Publish(b.queue, msg("2", "b")); !errors.Is(err, amqp.ErrNotConfirmed) {
		t.Errorf("a full queue: %v", err)
	}
}

// Rule: more messages than a window, and none is left out.
func TestPublishMany(t *testing.T) {
	b := setup(t)
	b.declare(amqp.Quorum, nil)
	many := make([]*message.Message, 1000)
	for i := range many {
		many[i] = msg("same id", "x")
	}
	sink := b.sink(amqp.SinkOptions{})
	b.must(sink.Publish(b.queue, many...))
	b.left(1000)
	b.must(sink.Publish(b.queue))
	b.must(sink.Close())
	b.must(sink.Close())
	if err := sink.Publish(b.queue, many[0]); !errors.Is(err, amqp.ErrClosed) {
		t.Errorf("a closed sink: %v", err)
	}
}
