package kafka_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/headrace/headrace/broker/kafka"
)

// words is a log that a test looks into.
type words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *words) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(line)
}

func (w *words) has(s string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(w.text.String(), s)
}

func (w *words) to(o *kafka.SourceOptions) { o.Logger = slog.New(slog.NewTextHandler(w, nil)) }

// A topic that was deleted and is not made again ends its subscription, and the log says
// so. Guard: subscription.madeAgain.
func TestDeletedTopic(t *testing.T) {
	b := setup(t, 1)
	b.fill(1)
	var log words
	source := b.source(log.to)
	source.SetGone(time.Second)
	messages := b.subscribe(source)
	ack(b.receive(messages, 1)...)
	if err := b.Delete(t.Context(), b.topic); err != nil {
		t.Fatal(err)
	}
	select {
	case m, is := <-messages:
		if is {
			t.Fatalf("a message came: %s", m.Payload)
		}
	case <-time.After(waitTimeout):
		t.Fatalf("the subscription has not ended after %s", waitTimeout)
	}
	if log.has("going on") || !log.has("the topic was deleted; waiting") || !log.has("deleted and not made again") {
		t.Errorf("the log says\n%s", log.text.String())
	}
}

// Records that the topic loses before the group has read them are missed with a line in the
// log, in a running member and in one that begins; what was read and went is not. Guard:
// session.gap, beginAt.
func TestRecordsThatAreGone(t *testing.T) {
	b := setup(t, 1)
	b.fill(10)
	var log words
	first := b.source(func(o *kafka.SourceOptions) {
		log.to(o)
		o.Client = append(o.Client, kgo.FetchMaxWait(100*time.Millisecond))
	})
	messages := b.subscribe(first)
	ack(b.receive(messages, 10)...)
	b.committed(10)
	b.removeBelow(10)
	b.fill(1)
	ack(b.receive(messages, 1)...)
	b.committed(11)
	if log.has("are gone from the topic") {
		t.Errorf("the log says\n%s", log.text.String())
	}
	first.Pause(b.topic)
	b.quiet(messages, 500*time.Millisecond) // what is asked for is answered
	b.fill(5)                               // 11 to 15
	b.removeBelow(14)
	first.Resume(b.topic)
	ack(b.receive(messages, 2)...)
	b.committed(16)
	if !log.has("first=11 oldest=14 at_most=3") {
		t.Errorf("the log says\n%s", log.text.String())
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	b.fill(5) // 16 to 20
	b.removeBelow(20)
	ack(b.receive(b.subscribe(b.source(log.to)), 1)...)
	if !log.has("first=16 oldest=20 at_most=4") {
		t.Errorf("the log says\n%s", log.text.String())
	}
}

// removeBelow removes the records of partition 0 below offset.
func (b *bundle) removeBelow(offset int64) {
	b.Helper()
	err := b.client(func(c *kgo.Client) error {
		ask := kmsg.NewPtrDeleteRecordsRequest()
		t := kmsg.NewDeleteRecordsRequestTopic()
		t.Topic = b.topic
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Offset = offset
		t.Partitions = append(t.Partitions, p)
		ask.Topics = append(ask.Topics, t)
		ask.TimeoutMillis = 10_000
		answer, err := ask.RequestWith(context.Background(), c)
		if err != nil {
			return err
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
