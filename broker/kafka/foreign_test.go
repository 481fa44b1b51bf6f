package kafka_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace/broker/brokertest"
)

// Send implements brokertest.Broker, with kcat, which knows neither Watermill nor us.
// Records that differ in nothing but their payloads go in one call.
func (s server) Send(ctx context.Context, topic string, records ...brokertest.Record) error {
	for len(records) > 0 {
		n := 1
		for n < len(records) && records[n].Key == records[0].Key && maps.Equal(records[n].Headers, records[0].Headers) {
			n++
		}
		var payloads [][]byte
		for _, r := range records[:n] {
			payloads = append(payloads, r.Payload)
		}
		var args []string
		if records[0].Key != "" {
			args = append(args, "-k", records[0].Key)
		}
		for _, name := range slices.Sorted(maps.Keys(records[0].Headers)) {
			args = append(args, "-H", name+"="+records[0].Headers[name])
		}
		if err := s.kcat(ctx, topic, payloads, args...); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// kcat sends payloads. Each is a file, since kcat splits what it reads.
func (s server) kcat(ctx context.Context, topic string, payloads [][]byte, args ...string) error {
	dir, err := os.MkdirTemp("", "kcat-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	args = append([]string{"-P", "-q", "-b", s.addr, "-t", topic}, args...)
	for i, p := range payloads {
		file := filepath.Join(dir, fmt.Sprintf("%06d", i))
		if err := os.WriteFile(file, p, 0o600); err != nil {
			return err
		}
		args = append(args, file)
	}
	out, err := exec.CommandContext(ctx, "kcat", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("kcat (Debian's package kcat): %w: %s", err, out)
	}
	return nil
}

// hostile is what a Kafka record can hold that a message may trip over.
func (s server) hostile() []brokertest.Hostile {
	with := func(name string, args ...string) brokertest.Hostile {
		return brokertest.Hostile{Name: name, Send: func(ctx context.Context, topic string, body []byte) error {
			return s.kcat(ctx, topic, [][]byte{body}, args...)
		}}
	}
	made := func(name string, undecodable bool, record func(body []byte) *kgo.Record) brokertest.Hostile {
		return brokertest.Hostile{Name: name, Undecodable: undecodable, Send: func(ctx context.Context, topic string, body []byte) error {
			return s.produce(ctx, topic, record(body))
		}}
	}
	header := func(name string, value []byte) func([]byte) *kgo.Record {
		return func(body []byte) *kgo.Record {
			return &kgo.Record{Value: body, Headers: []kgo.RecordHeader{{Key: name, Value: value}}}
		}
	}
	return []brokertest.Hostile{
		with("repeated header", "-H", "a=1", "-H", "a=2", "-H", "a=3"),
		with("header without a value", "-H", "a"),
		with("empty uuid", "-H", "_watermill_message_uuid="),
		with("gzip", "-z", "gzip"),
		with("lz4", "-z", "lz4"),
		with("no header, key with line ends", "-k", "a\r\nb"),
		made("nil value", true, func([]byte) *kgo.Record { return &kgo.Record{Key: []byte("tombstone")} }),
		made("empty value", true, func([]byte) *kgo.Record { return &kgo.Record{Value: []byte{}} }),
		made("binary header", false, header("b", []byte("\x00\xff\xfe"))),
		made("nil header", false, header("n", nil)),
		made("nameless header", false, header("", []byte("x"))),
		made("header's name is no text", false, header("\xff\x00", []byte("x"))),
		made("binary uuid", true, header("_watermill_message_uuid", []byte("\x00\xff"))),
		made("long uuid", true, header("_watermill_message_uuid", bytes.Repeat([]byte("u"), 4096))),
		made("large header", false, header("l", bytes.Repeat([]byte("x"), 64<<10))),
		made("forged trace", false, header("traceparent", []byte(strings.Repeat("0", 1000)))),
		made("binary key", false, func(body []byte) *kgo.Record { return &kgo.Record{Key: []byte("\x00\xff"), Value: body} }),
		made("a thousand headers", false, func(body []byte) *kgo.Record {
			r := &kgo.Record{Value: body}
			for i := range 1000 {
				r.Headers = append(r.Headers, kgo.RecordHeader{Key: fmt.Sprint("h", i%500), Value: []byte(fmt.Sprint(i))})
			}
			return r
		}),
		made("sixty thousand headers of one name", false, func(body []byte) *kgo.Record {
			r := &kgo.Record{Value: body, Headers: make([]kgo.RecordHeader, 60_000)}
			for i := range r.Headers {
				r.Headers[i].Key = "a"
			}
			return r
		}),
	}
}

// produce sends records that kcat cannot make, with a plain client.
func (s server) produce(ctx context.Context, topic string, records ...*kgo.Record) error {
	return s.client(func(c *kgo.Client) error { return c.ProduceSync(ctx, records...).FirstErr() }, kgo.DefaultProduceTopic(topic))
}

// Read implements brokertest.Broker with a plain client.
func (s server) Read(ctx context.Context, topic string) (r brokertest.Record, err error) {
	err = s.client(func(c *kgo.Client) error {
		fetched := c.PollRecords(ctx, 1)
		if err := fetched.Err(); err != nil {
			return err
		}
		record := fetched.Records()[0]
		r = brokertest.Record{Key: string(record.Key), Payload: record.Value, Headers: map[string]string{}}
		for _, h := range record.Headers {
			r.Headers[h.Key] = string(h.Value)
		}
		return nil
	}, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	return r, err
}
