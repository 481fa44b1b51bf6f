package brokertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec/cloudevents"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/retry"
)

// roundTrip: our source receives what our sink sends, byte for byte (INVARIANTS 14), and
// no metadata of a message is a command to the broker.
func roundTrip(s *bundle) {
	sent := map[string]*message.Message{}
	var messages []*message.Message
	add := func(id string, payload []byte, metadata message.Metadata) {
		m := message.NewMessage(id, payload)
		m.Metadata = metadata
		sent[id] = m
		messages = append(messages, m)
	}
	add("plain-1", []byte(`{"n":1}`), message.Metadata{"type": "order", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
	add("binary", []byte("\x00\x01\xff\xfe\r\n\x00"), message.Metadata{"name": "value"})
	add("empty payload", []byte{}, message.Metadata{"name": "value"})
	add("tombstone", nil, message.Metadata{"content-type": "text/plain", "headrace_class": "exhausted"})
	add("odd metadata", []byte("x"), message.Metadata{
		"empty": "", "lines": "a\r\nInjected: b\nc", "spaces": "  a b ", "unicode": "Grüße, 世界 🎉", "Ключ": "v", "a key: with, signs": "v",
	})
	add("forged", []byte("x"), message.Metadata{
		"Nats-Msg-Id": "forged", "Nats-Rollup": "all", "Nats-Expected-Last-Sequence": "99", "Status": "503", "x-death": "forged", "message-id": "forged",
		"MessageGroupId": "forged", "delivery-count": "7",
	})
	for mode := cloudevents.Structured; mode <= cloudevents.NATS; mode++ {
		ce, err := cloudevents.New("/shop", cloudevents.Options{Mode: mode})
		if err != nil {
			s.Fatal(err)
		}
		e, err := headrace.Event{Topic: s.topic, Value: "Grüße"}.Encode(ce)
		if err != nil {
			s.Fatal(err)
		}
		add(fmt.Sprintf("CloudEvent %d", mode), e.Payload, e.Metadata)
	}
	sink := s.sink("")
	if err := sink.Publish(s.topic, messages...); err != nil {
		s.Fatalf("publish: %v", err)
	}
	r := s.subscribe(s.source(""))
	for range messages {
		m := r.next()
		want := sent[m.UUID]
		if want == nil {
			s.Errorf("a message with the id %q came", m.UUID)
			continue
		}
		delete(sent, m.UUID)
		if string(m.Payload) != string(want.Payload) {
			s.Errorf("%s: payload %q, want %q", m.UUID, m.Payload, want.Payload)
		}
		if none := want.Payload == nil && s.f.Tombstones; (m.Payload == nil) != none {
			s.Errorf("%s: payload %#v, nil is expected: %t", m.UUID, m.Payload, none)
		}
		if at := headrace.ArrivalFrom(m.Context()).Time; time.Since(at).Abs() > time.Hour {
			s.Errorf("%s: the time is %s", m.UUID, at)
		}
		if !maps.Equal(m.Metadata, want.Metadata) {
			s.Errorf("%s: metadata %q, want %q", m.UUID, m.Metadata, want.Metadata)
		}
		m.Ack()
	}
	s.nothingLeft()
}

// refused: publishing to a missing topic, or a message that is too large, is an error of
// Publish. The relay parks one row for each, and publishes all others (faults 48, 53 and
// 62).
func refused(s *bundle) {
	missing, rows := s.newTopic(), 0
	sink := s.sink("")
	var events []headrace.Event
	add := func(topic string, payload []byte) {
		events = append(events, headrace.Event{Topic: topic, Payload: payload})
	}
	for n := 1; n <= 10; n++ {
		add(s.topic, bodyOf(n))
		if n == 3 && !s.f.CreatesTopics {
			if err := sink.Publish(missing, message.NewMessage("m", bodyOf(n))); err == nil {
				s.Errorf("to publish to %s, which is not there, is no error", missing)
			}
			add(missing, bodyOf(n))
			rows++
		}
		if n == 5 && s.f.TooLarge > 0 {
			large := fmt.Appendf(nil, `{"n":0,"pad":"%s"}`, strings.Repeat("x", s.f.TooLarge))
			if err := sink.Publish(s.topic, message.NewMessage("large", large)); !errors.Is(err, outbox.ErrTooLarge) {
				s.Errorf("to publish %d bytes: %v, want outbox.ErrTooLarge", len(large), err)
			}
			add(s.topic, large)
			rows++
		}
	}
	s.publish(events...)
	s.work("", apply, func(c *consumer.Config) {
		c.Sink = sink
		c.Relay = relay.Options{MaxAttempts: 2, Backoff: retry.Backoff{Initial: 10 * time.Millisecond, Max: 10 * time.Millisecond, Factor: 1}}
	})
	good := 10
	s.eventually(fmt.Sprintf("%d parked rows and no other", rows), func() (string, bool) {
		status, err := s.st.Outbox().Status(context.Background())
		if err != nil {
			return err.Error(), false
		}
		if status.Parked == int64(rows) {
			return fmt.Sprintf("%+v", status), status.Ready+status.Delayed+status.Behind == 0
		}
		good++ // a refusal counts only if the sink confirms others meanwhile
		s.publish(headrace.Event{Topic: s.topic, Payload: bodyOf(good)})
		time.Sleep(100 * time.Millisecond)
		return fmt.Sprintf("%+v", status), false
	})
	s.appliedOnce(good)
	s.undecodable(0)
}

// publish writes events into the outbox.
func (s *bundle) publish(events ...headrace.Event) {
	s.Helper()
	ob := outbox.New(s.st.Outbox())
	tx, err := s.db.BeginTx(s.Context(), nil)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := ob.Publish(s.Context(), tx, events...); err != nil {
		s.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		s.Fatal(err)
	}
}

// producer publishes 1 to n through sink, a few at a time, each again until it is
// confirmed, as the relay does. The channel is closed when all are confirmed.
func (s *bundle) producer(sink message.Publisher, n int, pause time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() {
		deadline := time.Now().Add(waitTimeout)
		for first := 1; first <= n; first += 5 {
			for {
				var messages []*message.Message
				for i := first; i < first+5 && i <= n; i++ {
					messages = append(messages, message.NewMessage(fmt.Sprintf("%s-%d", s.topic, i), bodyOf(i)))
				}
				err := sink.Publish(s.topic, messages...)
				if err == nil {
					break
				}
				if time.Now().After(deadline) {
					done <- err
					return
				}
				time.Sleep(50 * time.Millisecond)
			}
			time.Sleep(pause)
		}
		done <- nil
	}()
	return done
}

func (s *bundle) produced(done <-chan error) {
	s.Helper()
	if err := <-done; err != nil {
		s.Fatalf("publish: %v", err)
	}
}

// recreated: a topic that is removed and created again counts from the start. Its new
// messages are not duplicates of the old ones (fault 47).
func recreated(s *bundle) {
	s.sendNumbers(1, 5)
	w := s.work("", apply)
	s.appliedOnce(5)
	w.halt()
	ctx, cancel := s.bounded()
	defer cancel()
	if err := s.f.Delete(ctx, s.topic); err != nil {
		s.Fatalf("delete the topic: %v", err)
	}
	s.create(s.topic)
	s.sendNumbers(6, 10)
	s.work("", apply)
	s.appliedOnce(10)
}
