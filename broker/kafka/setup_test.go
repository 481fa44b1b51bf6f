package kafka_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/kafka"
)

// server is the broker of the tests, with one consumer group.
type server struct {
	addr, group string
}

var theServer = server{addr: os.Getenv("HEADRACE_TEST_KAFKA"), group: "headrace"}

func TestMain(m *testing.M) { brokertest.Main(m, theServer) }

//evidence:kafka
func TestConformance(t *testing.T) {
	need(t)
	brokertest.Run(t, theServer)
}

// need skips or fails t without a server.
func need(t testing.TB) {
	t.Helper()
	brokertest.Variable(t, "HEADRACE_TEST_KAFKA", "kafka")
}

const (
	// session is how long the group waits for a dead member of the suite, and of those
	// tests in which one dies.
	session = 2 * time.Second
	// alive is as much where a test is about members that live, however slow the machine.
	alive = 9 * time.Second
	// waitTimeout bounds each wait.
	waitTimeout = time.Minute
)

// sourceOptions are short ones.
func (s server) sourceOptions(addr string) kafka.SourceOptions {
	o := kafka.SourceOptions{
		Brokers: []string{s.addr}, Group: s.group, SessionTimeout: session, RebalanceTimeout: 0,
		CommitInterval: 100 * time.Millisecond, CloseTimeout: 2 * time.Second, NackPause: 100 * time.Millisecond,
		NewTopic: kafka.NewTopic{Partitions: 4}, Logger: slog.New(slog.DiscardHandler),
	}
	if addr != "" {
		o.Client = append(o.Client, through(addr))
	}
	return o
}

// through makes a client dial addr, whatever address a broker tells.
func through(addr string) kgo.Opt {
	return kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, network, addr)
	})
}

// Features implements brokertest.Broker.
func (s server) Features() brokertest.Features {
	return brokertest.Features{
		Name: "kafka", Hostile: s.hostile(), Redelivery: 2 * session, InFlight: 100, Ordered: true, Keys: true, Tombstones: true, TooLarge: 2 << 20,
		Restart: func(ctx context.Context) error { return brokertest.Restart(ctx, "kafka") },
		Delete:  s.Delete,
	}
}

// Create implements brokertest.Broker.
func (s server) Create(ctx context.Context, topic string) error { return s.create(ctx, topic, 4) }

func (s server) create(ctx context.Context, topic string, partitions int32) error {
	return s.client(func(c *kgo.Client) error {
		ask := kmsg.NewPtrCreateTopicsRequest()
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, 1
		ask.Topics = append(ask.Topics, t)
		answer, err := ask.RequestWith(ctx, c)
		if err != nil {
			return err
		}
		if err := kerr.ErrorForCode(answer.Topics[0].ErrorCode); err != nil {
			return err
		}
		for ctx.Err() == nil { // until its leaders know of it
			if ends, err := s.ends(ctx, c, topic); err == nil && len(ends) == int(partitions) {
				return nil
			}
			time.Sleep(20 * time.Millisecond)
		}
		return ctx.Err()
	})
}

// Delete removes a topic; it returns when the broker no longer knows it.
func (s server) Delete(ctx context.Context, topic string) error {
	return s.client(func(c *kgo.Client) error {
		ask := kmsg.NewPtrDeleteTopicsRequest()
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		ask.Topics, ask.TopicNames = append(ask.Topics, t), append(ask.TopicNames, topic)
		ask.TimeoutMillis = 10_000
		answer, err := ask.RequestWith(ctx, c)
		if err != nil {
			return err
		}
		if err := kerr.ErrorForCode(answer.Topics[0].ErrorCode); err != nil {
			return err
		}
		// The controller has removed it; the broker takes records for it until it has heard.
		for ctx.Err() == nil {
			known, err := s.metadata(ctx, c, topic)
			if err == nil && errors.Is(kerr.ErrorForCode(known.Topics[0].ErrorCode), kerr.UnknownTopicOrPartition) {
				return nil
			}
			time.Sleep(20 * time.Millisecond)
		}
		return ctx.Err()
	})
}

// client runs f with a client of the server, and nothing in its cache.
func (s server) client(f func(*kgo.Client) error, opts ...kgo.Opt) error {
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(s.addr), kgo.MetadataMinAge(10 * time.Millisecond)}, opts...)...)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

// Source implements brokertest.Broker.
func (s server) Source(addr string) (message.Subscriber, error) {
	return kafka.NewSource(s.sourceOptions(addr))
}

// Sink implements brokertest.Broker.
func (s server) Sink(addr string) (message.Publisher, error) {
	o := kafka.SinkOptions{Brokers: []string{s.addr}, Timeout: 5 * time.Second}
	if addr != "" {
		o.Client = append(o.Client, through(addr))
	}
	return kafka.NewSink(o)
}

// Addr implements brokertest.Broker.
func (s server) Addr() string { return s.addr }

// Left implements brokertest.Broker: the lag of the group.
func (s server) Left(ctx context.Context, topic string) (left int, err error) {
	err = s.client(func(c *kgo.Client) error {
		ends, err := s.ends(ctx, c, topic)
		if err != nil {
			return err
		}
		at, err := s.offsets(ctx, c, topic)
		for partition, end := range ends {
			left += int(end - max(at[partition], 0))
		}
		return err
	})
	return left, err
}

// ends are the offsets behind the newest record of each partition.
func (s server) ends(ctx context.Context, c *kgo.Client, topic string) (map[int32]int64, error) {
	known, err := s.metadata(ctx, c, topic)
	if err != nil {
		return nil, err
	}
	ask := kmsg.NewPtrListOffsetsRequest()
	list := kmsg.NewListOffsetsRequestTopic()
	list.Topic = topic
	for _, p := range known.Topics[0].Partitions {
		one := kmsg.NewListOffsetsRequestTopicPartition()
		one.Partition, one.Timestamp = p.Partition, -1
		list.Partitions = append(list.Partitions, one)
	}
	ask.Topics = append(ask.Topics, list)
	answer, err := ask.RequestWith(ctx, c)
	if err != nil {
		return nil, err
	}
	ends := make(map[int32]int64)
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, err
			}
			ends[p.Partition] = p.Offset
		}
	}
	if len(ends) == 0 {
		return nil, errors.New("no partitions")
	}
	return ends, nil
}

// metadata is what a broker knows of topic.
func (s server) metadata(ctx context.Context, c *kgo.Client, topic string) (*kmsg.MetadataResponse, error) {
	ask := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	ask.Topics = append(ask.Topics, t)
	return ask.RequestWith(ctx, c)
}

// offsets are those that the group has committed, and none where it has not.
func (s server) offsets(ctx context.Context, c *kgo.Client, topic string) (map[int32]int64, error) {
	all, err := s.commits(ctx, c, topic)
	at := make(map[int32]int64)
	for number, p := range all {
		at[number] = p.Offset
	}
	return at, err
}

// commits are what the group has committed.
func (s server) commits(ctx context.Context, c *kgo.Client, topic string) (map[int32]kmsg.OffsetFetchResponseGroupTopicPartition, error) {
	ask := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = s.group
	ask.Group, ask.Groups = s.group, append(ask.Groups, g)
	answer, err := ask.RequestWith(ctx, c)
	if err != nil {
		return nil, err
	}
	all := make(map[int32]kmsg.OffsetFetchResponseGroupTopicPartition)
	for _, g := range answer.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if t.Topic == topic {
					all[p.Partition] = p
				}
			}
		}
	}
	return all, nil
}

// bundle is what a test works with: a topic and a group of its own.
type bundle struct {
	*testing.T
	server
	topic string
}

// setup makes a topic with as many partitions.
func setup(t *testing.T, partitions int32) *bundle {
	t.Helper()
	need(t)
	t.Parallel()
	b := &bundle{T: t, topic: "t-" + strings.ToLower(rand.Text()[:10])}
	b.server = server{addr: theServer.addr, group: "g-" + b.topic}
	if err := b.create(t.Context(), b.topic, partitions); err != nil {
		t.Fatalf("make a topic: %v", err)
	}
	return b
}

// source is a source, closed at the end.
func (b *bundle) source(change func(*kafka.SourceOptions)) *kafka.Source {
	b.Helper()
	o := b.sourceOptions("")
	o.SessionTimeout = alive
	if change != nil {
		change(&o)
	}
	s, err := kafka.NewSource(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func (b *bundle) subscribe(s message.Subscriber) <-chan *message.Message {
	b.Helper()
	messages, err := s.Subscribe(context.Background(), b.topic)
	if err != nil {
		b.Fatal(err)
	}
	return messages
}

// receive returns the next n messages, none of them acknowledged.
func (b *bundle) receive(messages <-chan *message.Message, n int) (list []*message.Message) {
	b.Helper()
	timer := time.NewTimer(waitTimeout)
	defer timer.Stop()
	for len(list) < n {
		select {
		case m, ok := <-messages:
			if !ok {
				b.Fatalf("the channel was closed after %d of %d messages", len(list), n)
			}
			list = append(list, m)
		case <-timer.C:
			b.Fatalf("%d of %d messages came in %s", len(list), n, waitTimeout)
		}
	}
	return list
}

// quiet fails if a message comes within d, which is a time in which one would have.
func (b *bundle) quiet(messages <-chan *message.Message, d time.Duration) {
	b.Helper()
	select {
	case m, ok := <-messages:
		if ok {
			b.Fatalf("a message came: %s", m.Payload)
		}
	case <-time.After(d):
	}
}

// eventually waits until now returns true; it says what it has found.
func (b *bundle) eventually(what string, now func() (string, bool)) {
	b.Helper()
	deadline := time.Now().Add(waitTimeout)
	for {
		found, ok := now()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s: not after %s; found %s", what, waitTimeout, found)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// committed waits until the group's offset of partition 0 is n.
func (b *bundle) committed(n int64) {
	b.Helper()
	b.eventually(fmt.Sprintf("offset %d is committed", n), func() (string, bool) {
		at := b.offset()
		return fmt.Sprint("offset ", at), at == n
	})
}

// offset is what the group has committed of partition 0; -1 for nothing.
func (b *bundle) offset() (at int64) {
	b.Helper()
	err := b.client(func(c *kgo.Client) error {
		all, err := b.offsets(context.Background(), c, b.topic)
		at = -1
		if offset, is := all[0]; is {
			at = offset
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return at
}

// words are those of the commit of partition 0.
func (b *bundle) words() (words string) {
	b.Helper()
	err := b.client(func(c *kgo.Client) error {
		all, err := b.commits(context.Background(), c, b.topic)
		if p := all[0]; p.Metadata != nil {
			words = *p.Metadata
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return words
}

// payloads are those of messages.
func payloads(messages []*message.Message) (list []string) {
	for _, m := range messages {
		list = append(list, string(m.Payload))
	}
	return list
}

func ack(messages ...*message.Message) {
	for _, m := range messages {
		m.Ack()
	}
}
