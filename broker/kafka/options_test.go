package kafka_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace/broker/kafka"
	"github.com/headrace/headrace/consumer"
)

func refuses(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("taken, want an error with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// TRAPS: a start that refuses unsafe settings by name. Guard: refuse, checkAcks.
func TestASinkRefusesWhatWeakensIt(t *testing.T) {
	for words, opts := range map[string][]kgo.Opt{
		"kgo.RequiredAcks UnsafeAcks":                    {kgo.RequiredAcks(kgo.LeaderAck())},
		"kgo.RequiredAcks confirmed":                     {kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite()},
		"kgo.DisableIdempotentWrite UnsafeNotIdempotent": {kgo.DisableIdempotentWrite()},
		"kgo.AllowIdempotentProduceCancellation Unsafe":  {kgo.AllowIdempotentProduceCancellation()},
		"kgo.TransactionalID outbox":                     {kgo.TransactionalID("x")},
		"kgo.ManualFlushing":                             {kgo.ManualFlushing()},
		"kgo.AllowAutoTopicCreation":                     {kgo.AllowAutoTopicCreation()},
		"kgo.RecordDeliveryTimeout SinkOptions.Timeout":  {kgo.RecordDeliveryTimeout(time.Second)},
		"kgo.ProducerBatchMaxBytes MaxMessageBytes":      {kgo.ProducerBatchMaxBytes(5000)},
		"kgo.SeedBrokers SinkOptions.Brokers":            {kgo.SeedBrokers("localhost:2")},
	} {
		_, err := kafka.NewSink(kafka.SinkOptions{Brokers: []string{"localhost:1"}, Client: opts})
		refuses(t, err, strings.Fields(words)...)
	}
	_, err := kafka.NewSink(kafka.SinkOptions{
		Brokers: []string{"localhost:1"}, UnsafeAcks: true, Client: []kgo.Opt{kgo.RequiredAcks(kgo.LeaderAck())},
	})
	refuses(t, err, "kgo.RequiredAcks", "UnsafeNotIdempotent", "kgo.DisableIdempotentWrite")
	s, err := kafka.NewSink(kafka.SinkOptions{
		Brokers: []string{"localhost:1"}, UnsafeAcks: true, UnsafeNotIdempotent: true,
		Client: []kgo.Opt{kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestASourceRefusesWhatWeakensIt(t *testing.T) {
	for words, opts := range map[string][]kgo.Opt{
		"kgo.ConsumerGroup SourceOptions.Group":           {kgo.ConsumerGroup("other")},
		"kgo.ConsumeStartOffset UnsafeStartAtEnd":         {kgo.ConsumeStartOffset(kgo.NewOffset().AtEnd())},
		"UnsafeStartAtEnd changes":                        {kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd())},
		"kgo.FetchIsolationLevel UnsafeReadUncommitted":   {kgo.FetchIsolationLevel(kgo.ReadCommitted())},
		"option Client autocommit":                        {kgo.GreedyAutoCommit()},
		"kgo.SessionTimeout SourceOptions.SessionTimeout": {kgo.SessionTimeout(20 * time.Second)},
		"option Client assigned/revoked/lost":             {kgo.OnPartitionsLost(func(context.Context, *kgo.Client, map[string][]int32) {})},
		"kgo.KeepControlRecords":                          {kgo.KeepControlRecords()},
		"kgo.InstanceID member":                           {kgo.InstanceID("one")},
		"kgo.KeepRetryableFetchErrors":                    {kgo.KeepRetryableFetchErrors()},
		"kgo.DisableFetchCRCValidation":                   {kgo.DisableFetchCRCValidation()},
		"kgo.SeedBrokers SourceOptions.Brokers":           {kgo.SeedBrokers("localhost:2")},
		"kgo.AllowAutoTopicCreation":                      {kgo.AllowAutoTopicCreation()},
	} {
		_, err := kafka.NewSource(kafka.SourceOptions{Brokers: []string{"localhost:1"}, Group: "g", Client: opts})
		refuses(t, err, strings.Fields(words)...)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	good := kafka.SourceOptions{Brokers: []string{"localhost:1"}, Group: "g"}
	for words, change := range map[string]func(o *kafka.SourceOptions){
		"Brokers host:port": func(o *kafka.SourceOptions) { o.Brokers = nil },
		"Brokers empty":     func(o *kafka.SourceOptions) { o.Brokers = []string{""} },
		"Group":             func(o *kafka.SourceOptions) { o.Group = "" },
		"Window -1":         func(o *kafka.SourceOptions) { o.Window = -1 },
		"NackPause unit":    func(o *kafka.SourceOptions) { o.NackPause = 30 },
		"CloseTimeout":      func(o *kafka.SourceOptions) { o.CloseTimeout = -time.Second },
		"NewTopic -2":       func(o *kafka.SourceOptions) { o.NewTopic.Partitions = -2 },
	} {
		o := good
		change(&o)
		_, err := kafka.NewSource(o)
		refuses(t, err, strings.Fields(words)...)
	}
	_, err := kafka.NewSink(kafka.SinkOptions{Brokers: []string{"localhost:1"}, Timeout: 5})
	refuses(t, err, "Timeout")
}

// TRAPS: the source's limits are checked at start against the handler's deadline. Guards:
// Source.demand, find, checkSession.
func TestCheck(t *testing.T) {
	b := setup(t, 1)
	demands := consumer.Demands{HandlerTimeout: 30 * time.Second, AckWait: 70 * time.Second, Deliveries: 10, InFlight: 512}
	if err := b.source(nil).Check(t.Context(), b.topic, demands); err != nil {
		t.Error(err)
	}
	refuses(t, b.source(nil).Check(t.Context(), b.topic+"-nowhere", demands), "does not exist", "SubscribeInitialize")
	refuses(t, b.source(func(o *kafka.SourceOptions) { o.RebalanceTimeout = time.Minute }).Check(t.Context(), b.topic, demands),
		"RebalanceTimeout is 1m0s", "1m10s")
	refuses(t, b.source(func(o *kafka.SourceOptions) { o.SessionTimeout = 100 * time.Millisecond }).Check(t.Context(), b.topic, demands),
		"SessionTimeout is 100ms", "group.min.session.timeout.ms is 1s")
	refuses(t, b.source(func(o *kafka.SourceOptions) { o.SessionTimeout = 24 * time.Hour }).Check(t.Context(), b.topic, demands),
		"SessionTimeout is 24h", "group.max.session.timeout.ms")
}

// What makes a topic while the broker is away waits for it; Check leaves that to the
// consumer. Guards: patient, find.
func TestStartsBeforeTheBroker(t *testing.T) {
	b := setup(t, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	absent := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var dials atomic.Int32
	late := b.source(func(o *kafka.SourceOptions) {
		o.Client = append(o.Client, kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
			to := b.addr
			if dials.Add(1) < 5 {
				to = absent
			}
			return new(net.Dialer).DialContext(ctx, network, to)
		}))
	})
	if err := late.SubscribeInitialize(b.topic); err != nil {
		t.Error(err)
	}
	dials.Store(0)
	began := time.Now()
	if err := late.Check(t.Context(), b.topic, consumer.Demands{}); !errors.Is(err, consumer.ErrUnavailable) || time.Since(began) > 8*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	never := b.source(func(o *kafka.SourceOptions) { o.Brokers = []string{absent} })
	refuses(t, never.Check(t.Context(), b.topic, consumer.Demands{}), "connection refused", "option SourceOptions.Brokers")
	sink, err := kafka.NewSink(kafka.SinkOptions{Brokers: []string{absent}, Timeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	refuses(t, sink.Publish(b.topic, message.NewMessage("", nil)), "option SinkOptions.Brokers")
	if err := sink.Close(); err != nil {
		t.Error(err)
	}
}

// The topics' retention is declared to the inbox: what they say plus the age of their
// segments. One that is said to be shorter is refused (INVARIANTS 17). Guards: retention,
// checkRetention.
func TestRetention(t *testing.T) {
	b := setup(t, 1)
	const kept = 2*7*24*time.Hour + time.Hour // of Kafka's defaults
	if d := b.source(nil).TopicRetention(b.topic); d != kept {
		t.Errorf("retention %s, want %s", d, kept)
	}
	if d := b.source(nil).TopicRetention(b.topic + "-nowhere"); d != 0 {
		t.Errorf("retention %s of a topic that is not there", d)
	}
	said := b.source(func(o *kafka.SourceOptions) { o.Retention = kept })
	if d := said.TopicRetention(b.topic); d != kept {
		t.Errorf("retention %s, want the option's", d)
	}
	if err := said.Check(t.Context(), b.topic, consumer.Demands{}); err != nil {
		t.Error(err)
	}
	short := b.source(func(o *kafka.SourceOptions) { o.Retention = kept - time.Hour })
	refuses(t, short.Check(t.Context(), b.topic, consumer.Demands{}), "Retention is 336h", "segment.ms")
}
