package kafka_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/kafka"
)

// TRAPS, kafka: a sender that is not Watermill gives no UUID, and all its messages look
// like one. Theirs have coordinates of their own, with the topic's incarnation, and the
// record's key as order key. Guard: unmarshal.
func TestForeignRecordsHaveCoordinates(t *testing.T) {
	b := setup(t, 1)
	if err := b.kcat(t.Context(), b.topic, [][]byte{[]byte("one"), []byte("two")}, "-k", "customer", "-H", "a=1"); err != nil {
		t.Fatal(err)
	}
	list := b.receive(b.subscribe(b.source(nil)), 2)
	for i, m := range list {
		a := headrace.ArrivalFrom(m.Context())
		want := headrace.Coordinates{Broker: "kafka", Topic: a.Coordinates.Topic, Partition: "0", Position: fmt.Sprint(i)}
		name, id, _ := strings.Cut(a.Coordinates.Topic, "@")
		if a.Coordinates != want || name != b.topic || len(id) != 22 || id == strings.Repeat("A", 22) {
			t.Errorf("message %d stands at %+v", i, a.Coordinates)
		}
		if m.UUID != "" || a.OrderKey != "customer" || m.Metadata["a"] != "1" || a.Unreadable != nil {
			t.Errorf("message %d: UUID %q, order key %q, metadata %v", i, m.UUID, a.OrderKey, m.Metadata)
		}
	}
	ack(list...)
}

// Many records are in flight; the offset is committed up to the lowest that is not
// settled. Guard: window.settle begins at the head.
//
//evidence:kafka
func TestCommitsUpToTheLowestUnfinished(t *testing.T) {
	b := setup(t, 1)
	b.fill(10)
	messages := b.subscribe(b.source(nil))
	list := b.receive(messages, 10)
	ack(list[:3]...)
	ack(list[4:]...)
	b.committed(3)
	b.quiet(messages, 300*time.Millisecond) // three times the interval of commits
	if at := b.offset(); at != 3 {
		t.Fatalf("offset %d is committed, and the record at 3 is not settled", at)
	}
	ack(list[3])
	b.committed(10)
}

// fill publishes records "0" to "n-1" to partition 0.
func (b *bundle) fill(n int) {
	b.Helper()
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Value: []byte(fmt.Sprint(i))})
	}
	if err := b.produce(context.Background(), b.topic, records...); err != nil {
		b.Fatal(err)
	}
}

// A window of one hands over the next record only after the one before.
func TestWindow(t *testing.T) {
	b := setup(t, 1)
	b.fill(3)
	messages := b.subscribe(b.source(func(o *kafka.SourceOptions) { o.Window = 1 }))
	for i := range 3 {
		m := b.receive(messages, 1)[0]
		if string(m.Payload) != fmt.Sprint(i) {
			t.Fatalf("%q came as number %d", m.Payload, i)
		}
		b.quiet(messages, 100*time.Millisecond)
		m.Ack()
	}
}

// A record that holds its partition up holds up no other one, and the records behind it
// are not fetched for ever. Guard: partition.look, which stops the client from fetching.
func TestOneStuckPartitionHoldsUpNoOther(t *testing.T) {
	b := setup(t, 2)
	stuck, other := make([]*kgo.Record, 3000), make([]*kgo.Record, 3000)
	for i := range stuck {
		noise := make([]byte, 10_000) // that no compression makes small
		rand.Read(noise)
		stuck[i] = &kgo.Record{Partition: 0, Value: noise}
		other[i] = &kgo.Record{Partition: 1, Value: []byte("other")}
	}
	produce := func(records []*kgo.Record) {
		err := b.client(func(c *kgo.Client) error { return c.ProduceSync(t.Context(), records...).FirstErr() },
			kgo.DefaultProduceTopic(b.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err != nil {
			t.Fatal(err)
		}
	}
	produce(stuck)
	source := b.source(func(o *kafka.SourceOptions) { o.Window = 10 })
	messages := b.subscribe(source)
	held := b.receive(messages, 10) // the window of partition 0
	produce(other)
	for range other {
		m := b.receive(messages, 1)[0]
		if string(m.Payload) != "other" {
			t.Fatal("the window of ten was passed")
		}
		m.Ack()
	}
	if waiting := source.Waiting(); waiting > 8<<20 {
		t.Errorf("%d bytes wait: the stuck partition is fetched all the same", waiting)
	}
	ack(held...)
	for range len(stuck) - len(held) {
		b.receive(messages, 1)[0].Ack()
	}
	b.committed(3000)
}

// TRAPS, kafka: what is nacked is resent every 100 ms for ever. It stays away for
// NackPause, and then comes in its place. Guard: partition.settle's pause, merge.
func TestNack(t *testing.T) {
	b := setup(t, 1)
	b.fill(4)
	const pause = 400 * time.Millisecond
	messages := b.subscribe(b.source(func(o *kafka.SourceOptions) { o.NackPause = pause; o.Window = 3 }))
	list := b.receive(messages, 3)
	start := time.Now()
	list[2].Nack()
	list[0].Nack()
	list[1].Ack()
	again := b.receive(messages, 2)
	if d := time.Since(start); d < pause {
		t.Errorf("given again after %s", d)
	}
	if got := strings.Join(payloads(again), ""); got != "02" {
		t.Errorf("given again: %s, want 0 and 2", got)
	}
	if b.offset() > 0 {
		t.Error("an offset behind what was given back is committed")
	}
	ack(again...)
	b.receive(messages, 1)[0].Ack()
	b.committed(4)
}

// A message's context ends with its acknowledgement and when it is given back.
func TestContexts(t *testing.T) {
	type key struct{}
	b := setup(t, 1)
	b.fill(1)
	messages, err := b.source(nil).Subscribe(context.WithValue(t.Context(), key{}, "value"), b.topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, settle := range []func(m *message.Message){func(m *message.Message) { m.Nack() }, func(m *message.Message) { m.Ack() }} {
		m := b.receive(messages, 1)[0]
		if m.Context().Err() != nil || m.Context().Value(key{}) != "value" {
			t.Error("the context has ended, or is not that of Subscribe")
		}
		settle(m)
		b.ends(m)
	}
}

// ends waits until the context of m does.
func (b *bundle) ends(m *message.Message) {
	b.Helper()
	select {
	case <-m.Context().Done():
	case <-time.After(waitTimeout):
		b.Fatal("the message's context does not end")
	}
}

// Nothing is fetched while the topic is paused, and all is after it.
func TestPause(t *testing.T) {
	b := setup(t, 1)
	s := b.source(nil)
	messages := b.subscribe(s)
	b.fill(1)
	b.receive(messages, 1)[0].Ack()
	s.Pause(b.topic)
	s.Pause(b.topic)
	b.fill(2)
	b.quiet(messages, time.Second)
	s.Resume(b.topic)
	ack(b.receive(messages, 2)...)
	b.committed(3)
}

// INVARIANTS, fault 46: what an aborted transaction has written is not handed over, and
// the gaps that transactions leave do no harm. Guard: FetchIsolationLevel.
func TestTransactions(t *testing.T) {
	b := setup(t, 1)
	err := b.client(func(c *kgo.Client) error {
		for i, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
			if err := c.BeginTransaction(); err != nil {
				return err
			}
			if err := c.ProduceSync(t.Context(), kgo.StringRecord(fmt.Sprint(i))).FirstErr(); err != nil {
				return err
			}
			if err := c.EndTransaction(t.Context(), end); err != nil {
				return err
			}
		}
		return nil
	}, kgo.TransactionalID("tx-"+b.topic), kgo.DefaultProduceTopic(b.topic))
	if err != nil {
		t.Fatal(err)
	}
	messages := b.subscribe(b.source(nil))
	list := b.receive(messages, 2)
	ack(list...)
	b.committed(5) // 0, marker, 1 that was aborted, marker, 2: behind it
	b.quiet(messages, 200*time.Millisecond)
	if got := strings.Join(payloads(list), ""); got != "02" {
		t.Errorf("handed over: %s, want 0 and 2", got)
	}
}

// Of repeated headers none is dropped, bytes stay bytes, and a nil value is nil.
func TestHeadersAndNil(t *testing.T) {
	b := setup(t, 1)
	err := b.produce(t.Context(), b.topic,
		&kgo.Record{Key: []byte("k"), Headers: []kgo.RecordHeader{
			{Key: "a", Value: []byte("1")}, {Key: "a", Value: []byte("2")}, {Key: "a", Value: []byte("\xff\x00")},
			{Key: kafka.UUIDHeader, Value: []byte("uuid")},
		}},
		&kgo.Record{Value: []byte{}})
	if err != nil {
		t.Fatal(err)
	}
	list := b.receive(b.subscribe(b.source(nil)), 2)
	ack(list...)
	m := list[0]
	if m.Payload != nil || m.UUID != "uuid" || list[1].Payload == nil {
		t.Errorf("payload %#v, UUID %q; empty payload %#v", m.Payload, m.UUID, list[1].Payload)
	}
	if m.Metadata["a"] != "\xff\x00" || m.Metadata["a#1"] != "1" || m.Metadata["a#2"] != "2" || len(m.Metadata) != 3 {
		t.Errorf("metadata %q", m.Metadata)
	}
}

// What a record has beside its payload is kept whole, for who reads its dead letter: a key
// that is no text, and the UUIDs before the last. Guards: KeyBase64, headersOf.
func TestKeysAndUUIDsAreKept(t *testing.T) {
	b := setup(t, 1)
	uuid := func(s string) kgo.RecordHeader { return kgo.RecordHeader{Key: kafka.UUIDHeader, Value: []byte(s)} }
	err := b.produce(t.Context(), b.topic,
		&kgo.Record{Key: []byte("\x00\xff"), Headers: []kgo.RecordHeader{{Key: kafka.KeyBase64, Value: []byte("forged")}}},
		&kgo.Record{Key: []byte("text"), Headers: []kgo.RecordHeader{uuid("first"), uuid("second"), uuid("third")}})
	if err != nil {
		t.Fatal(err)
	}
	list := b.receive(b.subscribe(b.source(nil)), 2)
	ack(list...)
	want := message.Metadata{kafka.KeyBase64: "AP8=", kafka.KeyBase64 + "#1": "forged"}
	if got := list[0].Metadata; !maps.Equal(got, want) {
		t.Errorf("metadata %q, want %q", got, want)
	}
	want = message.Metadata{kafka.UUIDHeader + "#1": "first", kafka.UUIDHeader + "#2": "second"}
	if got := list[1].Metadata; !maps.Equal(got, want) || list[1].UUID != "third" {
		t.Errorf("UUID %q, metadata %q, want %q", list[1].UUID, got, want)
	}
}

// INVARIANTS, fault 47: a topic that was deleted and made again begins anew, and its
// records do not look like those of its predecessor. Guards: placeOf, errRecreated.
//
//evidence:kafka
func TestRecreatedTopic(t *testing.T) {
	b := setup(t, 1)
	b.fill(3)
	messages := b.subscribe(b.source(nil))
	before := b.receive(messages, 3)
	ack(before[:2]...)
	b.committed(2)
	b.recreate(1)
	b.fill(3)
	ack(before[2]) // too late: the commit may count for the new topic, see the next test
	after := b.receive(messages, 3)
	ack(after...)
	for i := range after {
		was, is := headrace.ArrivalFrom(before[i].Context()).Coordinates, headrace.ArrivalFrom(after[i].Context()).Coordinates
		if was.Position != is.Position || was.Topic == is.Topic {
			t.Errorf("%s became %s", was, is)
		}
	}
	b.committed(3)
}

func (b *bundle) recreate(partitions int32) {
	b.Helper()
	if err := b.Delete(b.Context(), b.topic); err != nil {
		b.Fatal(err)
	}
	if err := b.create(b.Context(), b.topic, partitions); err != nil {
		b.Fatal(err)
	}
}

// INVARIANTS, fault 47: a commit for the old topic that comes after the new one was made
// counts for it, since the group knows offsets by the topic's name. No record of the new
// one is passed over. What an operator has set counts. Guards: marking, session.begin.
//
//evidence:kafka
func TestAnOffsetOfAnotherIncarnation(t *testing.T) {
	b := setup(t, 1)
	b.fill(3)
	first := b.source(nil)
	ack(b.receive(b.subscribe(first), 3)...)
	b.committed(3)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	late := b.words()
	b.recreate(1)
	b.fill(4)
	b.set(3, late)
	second := b.source(nil)
	list := b.receive(b.subscribe(second), 4)
	if got := strings.Join(payloads(list), ""); got != "0123" {
		t.Errorf("handed over: %s, want all four", got)
	}
	ack(list...)
	b.committed(4)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	b.set(2, "")
	list = b.receive(b.subscribe(b.source(nil)), 2)
	if got := strings.Join(payloads(list), ""); got != "23" {
		t.Errorf("handed over: %s, want those behind what the operator has set", got)
	}
	ack(list...)
}

// set commits an offset of partition 0 with the committer's words, as the group's tools do
// while it has no members.
func (b *bundle) set(offset int64, words string) {
	b.Helper()
	err := b.client(func(c *kgo.Client) error {
		ask := kmsg.NewPtrOffsetCommitRequest()
		ask.Group = b.group
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Offset, p.Metadata = offset, &words
		topic := kmsg.NewOffsetCommitRequestTopic()
		topic.Topic, topic.Partitions = b.topic, append(topic.Partitions, p)
		ask.Topics = append(ask.Topics, topic)
		answer, err := ask.RequestWith(context.Background(), c)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
	}, kgo.MaxVersions(kversion.V3_7_0())) // by name
	if err != nil {
		b.Fatal(err)
	}
}

// A closed source refuses to subscribe, and closes twice.
func TestClose(t *testing.T) {
	b := setup(t, 1)
	s := b.source(nil)
	messages := b.subscribe(s)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, open := <-messages; open {
		t.Error("a message came")
	}
	if _, err := s.Subscribe(t.Context(), b.topic); !errors.Is(err, kafka.ErrClosed) {
		t.Errorf("subscribe: %v", err)
	}
}
