package interop

import (
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	wnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kgo"

	ourkafka "github.com/headrace/headrace/broker/kafka"
	ourpg "github.com/headrace/headrace/broker/postgres"
)

// from returns the move from a broker's official adapter to ours, in one group or queue.
func (b broker) from(t *testing.T) *move {
	m := newMove(t)
	m.send = b.official.publisher(t)
	m.before = func() message.Subscriber { return b.official.subscriber(t, m.topic) }
	if b.ours.subscriber != nil {
		m.after = func() message.Subscriber { return b.ours.subscriber(t, m.topic) }
	}
	return m
}

// The members of a Kafka group must have a way in common to share the partitions: the official
// adapter knows the range only.
func TestMoveKafka(t *testing.T) {
	m := kafkaBroker(t).from(t)
	m.after = func() message.Subscriber {
		return must[*ourkafka.Source](t)(ourkafka.NewSource(ourkafka.SourceOptions{
			Brokers: []string{address(t, "kafka")}, Group: m.topic, Client: []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())},
		}))
	}
	first := m.before().(*kafka.Subscriber)
	if err := first.SubscribeInitialize(m.topic); err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	m.run()
}

// Both read the queue that the official adapter has made.
func TestMoveRabbitMQ(t *testing.T) { rabbitBroker(t).from(t).run() }

func TestMoveSQS(t *testing.T) { sqsBroker(t).from(t).run() }

func TestMoveRedis(t *testing.T) { redisBroker(t).from(t).run() }

// The official adapter has a push consumer on the server, which ours cannot read, and which is
// removed when the process ends that made it: a consumer that begins where the old one is now
// is made before. What the old program handles after that is handled by both.
func TestMoveNATS(t *testing.T) {
	b, m := natsBroker(t), newMove(t)
	b.prepare(t, m.topic)
	at := address(t, "nats")
	nc := must[*natsgo.Conn](t)(natsgo.Connect(at))
	t.Cleanup(nc.Close)
	m.send = must[*wnats.Publisher](t)(wnats.NewPublisher(wnats.PublisherConfig{URL: at, Marshaler: &wnats.NATSMarshaler{}}, quiet))
	m.before = func() message.Subscriber {
		return must[*wnats.Subscriber](t)(wnats.NewSubscriber(wnats.SubscriberConfig{
			URL: at, QueueGroupPrefix: "old", Unmarshaler: &wnats.NATSMarshaler{},
			JetStream: wnats.JetStreamConfig{DurablePrefix: "old"},
		}, quiet))
	}
	m.after = func() message.Subscriber { return b.ours.subscriber(t, "billing") }
	m.prepare = func() {
		old := must[natsgo.JetStreamContext](t)(nc.JetStream())
		info := must[*natsgo.ConsumerInfo](t)(old.ConsumerInfo(m.topic, "old"))
		js := must[natsjs.JetStream](t)(natsjs.New(nc))
		must[natsjs.Consumer](t)(js.CreateConsumer(t.Context(), m.topic, natsjs.ConsumerConfig{
			Durable: "billing_" + m.topic, FilterSubject: m.topic, AckPolicy: natsjs.AckExplicitPolicy, MaxDeliver: -1,
			DeliverPolicy: natsjs.DeliverByStartSequencePolicy, OptStartSeq: info.AckFloor.Stream + 1,
		}))
	}
	m.run()
}

// broker/postgres has tables of its own: the new program reads both until the old ones are empty.
func TestMovePostgreSQL(t *testing.T) {
	db := postgresDB(t)
	m := postgresBroker(db).from(t)
	m.topic = strings.ReplaceAll(m.topic, "-", "_")
	if err := ourpg.Create(t.Context(), db, "public"); err != nil {
		t.Fatal(err)
	}
	m.sources = func() []message.Subscriber {
		return []message.Subscriber{m.before(), must[*ourpg.Source](t)(ourpg.NewSource(ourpg.SourceOptions{DB: db, Group: m.topic}))}
	}
	m.sendNext = must[*ourpg.Sink](t)(ourpg.NewSink(ourpg.SinkOptions{DB: db}))
	m.run()
}
