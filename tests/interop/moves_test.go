package interop

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	wsqs "github.com/ThreeDotsLabs/watermill-aws/sqs"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	wnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	goredis "github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	ouramqp "github.com/headrace/headrace/broker/amqp"
	ourkafka "github.com/headrace/headrace/broker/kafka"
	ournats "github.com/headrace/headrace/broker/nats"
	ourpg "github.com/headrace/headrace/broker/postgres"
	ourredis "github.com/headrace/headrace/broker/redis"
	oursqs "github.com/headrace/headrace/broker/sqs"
)

// The members of a Kafka group must have a way in common to share the partitions: the official
// adapter knows the range only.
func TestMoveKafka(t *testing.T) {
	m := newMove(t)
	brokers := []string{address(t, "kafka")}
	m.send = must[*kafka.Publisher](t)(kafka.NewPublisher(kafka.PublisherConfig{Brokers: brokers, Marshaler: kafka.DefaultMarshaler{}}, quiet))
	config := kafka.DefaultSaramaSubscriberConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	m.before = func() message.Subscriber {
		return must[*kafka.Subscriber](t)(kafka.NewSubscriber(kafka.SubscriberConfig{
			Brokers: brokers, ConsumerGroup: m.topic, Unmarshaler: kafka.DefaultMarshaler{}, OverwriteSaramaConfig: config,
			InitializeTopicDetails: &sarama.TopicDetail{NumPartitions: 4, ReplicationFactor: 1},
		}, quiet))
	}
	m.after = func() message.Subscriber {
		return must[*ourkafka.Source](t)(ourkafka.NewSource(ourkafka.SourceOptions{
			Brokers: brokers, Group: m.topic, Client: []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())},
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
func TestMoveRabbitMQ(t *testing.T) {
	m := newMove(t)
	at := address(t, "rabbitmq")
	config := amqp.NewDurableQueueConfig(at)
	m.send = must[*amqp.Publisher](t)(amqp.NewPublisher(config, quiet))
	m.before = func() message.Subscriber { return must[*amqp.Subscriber](t)(amqp.NewSubscriber(config, quiet)) }
	m.after = func() message.Subscriber {
		return must[*ouramqp.Source](t)(ouramqp.NewSource(ouramqp.SourceOptions{
			Server: ouramqp.Server{URL: at}, Topology: ouramqp.Topology{DeliveryLimit: ouramqp.Unlimited},
		}))
	}
	m.run()
}

func TestMoveSQS(t *testing.T) {
	m := newMove(t)
	at := address(t, "sqs")
	config := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("x", "x", ""), BaseEndpoint: &at}
	m.send = must[*wsqs.Publisher](t)(wsqs.NewPublisher(wsqs.PublisherConfig{AWSConfig: config}, quiet))
	m.before = func() message.Subscriber {
		return must[*wsqs.Subscriber](t)(wsqs.NewSubscriber(wsqs.SubscriberConfig{AWSConfig: config}, quiet))
	}
	m.after = func() message.Subscriber {
		return must[*oursqs.Source](t)(oursqs.NewSource(oursqs.SourceOptions{Client: awssqs.NewFromConfig(config)}))
	}
	m.run()
}

func TestMoveRedis(t *testing.T) {
	m := newMove(t)
	at := address(t, "redis")
	client := func() goredis.UniversalClient {
		c := goredis.NewClient(&goredis.Options{Addr: at})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	m.send = must[*redisstream.Publisher](t)(redisstream.NewPublisher(redisstream.PublisherConfig{Client: client()}, quiet))
	m.before = func() message.Subscriber {
		return must[*redisstream.Subscriber](t)(redisstream.NewSubscriber(redisstream.SubscriberConfig{
			Client: client(), ConsumerGroup: m.topic, OldestId: "0", DisableIndefiniteInitialBlock: true,
		}, quiet))
	}
	m.after = func() message.Subscriber {
		return must[*ourredis.Source](t)(ourredis.NewSource(ourredis.SourceOptions{Client: client(), Group: m.topic}))
	}
	m.run()
}

// The official adapter has a push consumer on the server, which ours cannot read, and which is
// removed when the process ends that made it: a consumer that begins where the old one is now
// is made before. What the old program handles after that is handled by both.
func TestMoveNATS(t *testing.T) {
	m := newMove(t)
	at := address(t, "nats")
	nc := must[*natsgo.Conn](t)(natsgo.Connect(at))
	t.Cleanup(nc.Close)
	js := must[natsjs.JetStream](t)(natsjs.New(nc))
	stream := must[natsjs.Stream](t)(js.CreateStream(t.Context(), natsjs.StreamConfig{Name: m.topic, Subjects: []string{m.topic}}))
	m.send = must[*wnats.Publisher](t)(wnats.NewPublisher(wnats.PublisherConfig{URL: at, Marshaler: &wnats.NATSMarshaler{}}, quiet))
	m.before = func() message.Subscriber {
		return must[*wnats.Subscriber](t)(wnats.NewSubscriber(wnats.SubscriberConfig{
			URL: at, QueueGroupPrefix: "old", Unmarshaler: &wnats.NATSMarshaler{},
			JetStream: wnats.JetStreamConfig{DurablePrefix: "old"},
		}, quiet))
	}
	m.prepare = func() {
		old := must[natsgo.JetStreamContext](t)(nc.JetStream())
		info := must[*natsgo.ConsumerInfo](t)(old.ConsumerInfo(m.topic, "old"))
		must[natsjs.Consumer](t)(stream.CreateConsumer(t.Context(), natsjs.ConsumerConfig{
			Durable: "billing_" + m.topic, FilterSubject: m.topic, AckPolicy: natsjs.AckExplicitPolicy, MaxDeliver: -1,
			DeliverPolicy: natsjs.DeliverByStartSequencePolicy, OptStartSeq: info.AckFloor.Stream + 1,
		}))
	}
	m.after = func() message.Subscriber {
		return must[*ournats.Source](t)(ournats.NewSource(ournats.SourceOptions{Server: ournats.Server{URL: at}, Durable: "billing"}))
	}
	m.run()
}

// broker/postgres has tables of its own: the new program reads both until the old ones are empty.
func TestMovePostgreSQL(t *testing.T) {
	m := newMove(t)
	m.topic = strings.ReplaceAll(m.topic, "-", "_")
	db := must[*sql.DB](t)(sql.Open("postgres", address(t, "postgres")))
	t.Cleanup(func() { _ = db.Close() })
	if err := ourpg.Create(t.Context(), db, "public"); err != nil {
		t.Fatal(err)
	}
	m.send = must[*wsql.Publisher](t)(wsql.NewPublisher(db, wsql.PublisherConfig{SchemaAdapter: wsql.DefaultPostgreSQLSchema{}, AutoInitializeSchema: true}, quiet))
	m.before = func() message.Subscriber {
		return must[*wsql.Subscriber](t)(wsql.NewSubscriber(db, wsql.SubscriberConfig{
			ConsumerGroup: m.topic, SchemaAdapter: wsql.DefaultPostgreSQLSchema{}, OffsetsAdapter: wsql.DefaultPostgreSQLOffsetsAdapter{}, InitializeSchema: true,
		}, quiet))
	}
	m.sources = func() []message.Subscriber {
		return []message.Subscriber{m.before(), must[*ourpg.Source](t)(ourpg.NewSource(ourpg.SourceOptions{DB: db, Group: m.topic}))}
	}
	m.sendNext = must[*ourpg.Sink](t)(ourpg.NewSink(ourpg.SinkOptions{DB: db}))
	m.run()
}
