package kafka_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace/broker/kafka"
)

// live is what is in use of the heap, in MiB.
func live() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 20)
}

// Behind one slow record others are handled: what is acknowledged is not kept, and what is
// not is bounded (MaxBytes). 300 MB pass here.
func TestMemoryBehindASlowRecord(t *testing.T) {
	b := setup(t, 1)
	const records, each = 340, 900_000
	err := b.client(func(c *kgo.Client) error {
		for range records {
			value := make([]byte, each)
			_, _ = rand.Read(value)
			if err := c.ProduceSync(context.Background(), &kgo.Record{Topic: b.topic, Value: value}).FirstErr(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	before := live()
	messages := b.subscribe(b.source(func(o *kafka.SourceOptions) { o.MaxBytes = 16 << 20 }))
	slow, most := b.receive(messages, 1)[0], 0
	for n := range records - 1 {
		m := b.receive(messages, 1)[0]
		if len(m.Payload) != each {
			t.Fatalf("%d bytes", len(m.Payload))
		}
		m.Ack()
		if n%50 == 0 {
			most = max(most, live()-before)
		}
	}
	time.Sleep(20 * time.Millisecond)
	if most = max(most, live()-before); most > 100 {
		t.Errorf("%d MiB are in use behind one slow record", most)
	}
	if at := b.offset(); at > 0 {
		t.Errorf("offset %d is committed before the slow record is acknowledged", at)
	}
	slow.Ack()
	b.committed(records)
}

// What is not acknowledged is bounded: then no more is fetched, until something is.
func TestMaxBytes(t *testing.T) {
	b := setup(t, 1)
	value := bytes.Repeat([]byte("x"), 100_000)
	var records []*kgo.Record
	for range 100 {
		records = append(records, &kgo.Record{Value: value})
	}
	if err := b.produce(t.Context(), b.topic, records...); err != nil {
		t.Fatal(err)
	}
	messages := b.subscribe(b.source(func(o *kafka.SourceOptions) { o.MaxBytes = 1 << 20 }))
	held := b.receive(messages, 10)
	count := len(held)
	for more := true; more; {
		select {
		case m := <-messages:
			held = append(held, m)
			count++
		case <-time.After(2 * time.Second):
			more = false
		}
	}
	if count > 40 {
		t.Errorf("%d records of 100 kB were handed over with a MaxBytes of 1 MiB", count)
	}
	ack(held[1:]...) // not the first: room comes from those behind it
	rest := b.receive(messages, 10)
	ack(held[0])
	ack(rest...)
	for range 100 - count - 10 {
		ack(b.receive(messages, 1)...)
	}
	b.committed(100)
}

// Batches that are compressed well are small for the broker, and large in memory: 1 GB here.
func TestMemoryOfCompressedBatches(t *testing.T) {
	b := setup(t, 4)
	err := b.client(func(c *kgo.Client) error {
		value := make([]byte, 990_000)
		for n := range 1000 {
			c.Produce(context.Background(), &kgo.Record{Topic: b.topic, Partition: int32(n % 4), Value: value}, nil)
		}
		return c.Flush(context.Background())
	}, kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(50))
	if err != nil {
		t.Fatal(err)
	}
	before, most := live(), 0
	messages := b.subscribe(b.source(func(o *kafka.SourceOptions) { o.MaxBytes = 16 << 20 }))
	slow := b.receive(messages, 1)[0]
	for n := range 999 {
		if n%100 == 0 {
			time.Sleep(50 * time.Millisecond) // the client fetches ahead
			most = max(most, live()-before)
		}
		b.receive(messages, 1)[0].Ack()
	}
	if slow.Ack(); most > 60 {
		t.Errorf("%d MiB are in use of 1 GB in batches of a few hundred bytes each", most)
	}
}
