package interop

import (
	"database/sql"
	"testing"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	wsqs "github.com/ThreeDotsLabs/watermill-aws/sqs"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill-nats/v2/pkg/jetstream"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	_ "github.com/lib/pq"
	natsgo "github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	goredis "github.com/redis/go-redis/v9"

	ouramqp "github.com/headrace/headrace/broker/amqp"
	ourkafka "github.com/headrace/headrace/broker/kafka"
	ournats "github.com/headrace/headrace/broker/nats"
	ourredis "github.com/headrace/headrace/broker/redis"
	oursqs "github.com/headrace/headrace/broker/sqs"
)

func TestKafka(t *testing.T) { kafkaBroker(t).run(t) }

func kafkaBroker(t *testing.T) broker {
	brokers := []string{address(t, "kafka")}
	return broker{
		official: adapter{
			publisher: func(t *testing.T) message.Publisher {
				return must[*kafka.Publisher](t)(kafka.NewPublisher(kafka.PublisherConfig{Brokers: brokers, Marshaler: kafka.DefaultMarshaler{}}, quiet))
			},
			subscriber: func(t *testing.T, group string) message.Subscriber {
				config := kafka.DefaultSaramaSubscriberConfig()
				config.Consumer.Offsets.Initial = sarama.OffsetOldest
				return must[*kafka.Subscriber](t)(kafka.NewSubscriber(kafka.SubscriberConfig{
					Brokers: brokers, ConsumerGroup: group, Unmarshaler: kafka.DefaultMarshaler{}, OverwriteSaramaConfig: config,
					InitializeTopicDetails: &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1},
				}, quiet))
			},
		},
		ours: adapter{
			publisher: func(t *testing.T) message.Publisher {
				return must[*ourkafka.Sink](t)(ourkafka.NewSink(ourkafka.SinkOptions{Brokers: brokers}))
			},
			subscriber: func(t *testing.T, group string) message.Subscriber {
				return must[*ourkafka.Source](t)(ourkafka.NewSource(ourkafka.SourceOptions{Brokers: brokers, Group: group}))
			},
		},
	}
}

func TestRabbitMQ(t *testing.T) { rabbitBroker(t).run(t) }

func rabbitBroker(t *testing.T) broker {
	at := address(t, "rabbitmq")
	config := amqp.NewDurableQueueConfig(at)
	return broker{
		official: adapter{
			publisher: func(t *testing.T) message.Publisher {
				return must[*amqp.Publisher](t)(amqp.NewPublisher(config, quiet))
			},
			subscriber: func(t *testing.T, _ string) message.Subscriber {
				return must[*amqp.Subscriber](t)(amqp.NewSubscriber(config, quiet))
			},
		},
		ours: adapter{
			publisher: func(t *testing.T) message.Publisher {
				return must[*ouramqp.Sink](t)(ouramqp.NewSink(ouramqp.SinkOptions{Server: ouramqp.Server{URL: at}}))
			},
			subscriber: func(t *testing.T, _ string) message.Subscriber {
				return must[*ouramqp.Source](t)(ouramqp.NewSource(ouramqp.SourceOptions{
					Server: ouramqp.Server{URL: at}, Topology: ouramqp.Topology{DeliveryLimit: ouramqp.Unlimited}, // the official adapter's queues are classic
				}))
			},
		},
	}
}

func TestSQS(t *testing.T) { sqsBroker(t).run(t) }

func sqsBroker(t *testing.T) broker {
	at := address(t, "sqs")
	config := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("x", "x", ""), BaseEndpoint: &at}
	client := awssqs.NewFromConfig(config)
	return broker{
		once: true,
		official: adapter{
			publisher: func(t *testing.T) message.Publisher {
				return must[*wsqs.Publisher](t)(wsqs.NewPublisher(wsqs.PublisherConfig{AWSConfig: config}, quiet))
			},
			subscriber: func(t *testing.T, _ string) message.Subscriber {
				return must[*wsqs.Subscriber](t)(wsqs.NewSubscriber(wsqs.SubscriberConfig{AWSConfig: config}, quiet))
			},
		},
		ours: adapter{
			publisher: func(t *testing.T) message.Publisher {
				return must[*oursqs.Sink](t)(oursqs.NewSink(oursqs.SinkOptions{Client: client}))
			},
			subscriber: func(t *testing.T, _ string) message.Subscriber {
				return must[*oursqs.Source](t)(oursqs.NewSource(oursqs.SourceOptions{Client: client}))
			},
		},
	}
}

func TestNATS(t *testing.T) { natsBroker(t).run(t) }

func natsBroker(t *testing.T) broker {
	at := address(t, "nats")
	return broker{
		once: true,
		prepare: func(t *testing.T, topic string) {
			nc := must[*natsgo.Conn](t)(natsgo.Connect(at))
			defer nc.Close()
			js := must[natsjs.JetStream](t)(natsjs.New(nc))
			must[natsjs.Stream](t)(js.CreateStream(t.Context(), natsjs.StreamConfig{Name: topic, Subjects: []string{topic}}))
		},
		official: adapter{
			publisher: func(t *testing.T) message.Publisher {
				return must[*jetstream.Publisher](t)(jetstream.NewPublisher(jetstream.PublisherConfig{URL: at, Logger: quiet}))
			},
			subscriber: func(t *testing.T, group string) message.Subscriber {
				return must[*jetstream.Subscriber](t)(jetstream.NewSubscriber(jetstream.SubscriberConfig{URL: at, Logger: quiet}))
			},
		},
		ours: adapter{
			publisher: func(t *testing.T) message.Publisher {
				return must[*ournats.Sink](t)(ournats.NewSink(ournats.SinkOptions{Server: ournats.Server{URL: at}}))
			},
			subscriber: func(t *testing.T, group string) message.Subscriber {
				return must[*ournats.Source](t)(ournats.NewSource(ournats.SourceOptions{Server: ournats.Server{URL: at}, Durable: group}))
			},
		},
	}
}

func TestRedis(t *testing.T) { redisBroker(t).run(t) }

func redisBroker(t *testing.T) broker {
	at := address(t, "redis")
	// One for each, because the official adapter closes it.
	client := func(t *testing.T) goredis.UniversalClient {
		c := goredis.NewClient(&goredis.Options{Addr: at})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	return broker{
		official: adapter{
			publisher: func(t *testing.T) message.Publisher {
				return must[*redisstream.Publisher](t)(redisstream.NewPublisher(redisstream.PublisherConfig{Client: client(t)}, quiet))
			},
			subscriber: func(t *testing.T, group string) message.Subscriber {
				return must[*redisstream.Subscriber](t)(redisstream.NewSubscriber(redisstream.SubscriberConfig{
					Client: client(t), ConsumerGroup: group, OldestId: "0", DisableIndefiniteInitialBlock: true,
				}, quiet))
			},
		},
		ours: adapter{
			publisher: func(t *testing.T) message.Publisher {
				return must[*ourredis.Sink](t)(ourredis.NewSink(ourredis.SinkOptions{Client: client(t)}))
			},
			subscriber: func(t *testing.T, group string) message.Subscriber {
				return must[*ourredis.Source](t)(ourredis.NewSource(ourredis.SourceOptions{Client: client(t), Group: group}))
			},
		},
	}
}

// broker/postgres has tables of its own, so only the official adapter is here.
func TestPostgreSQL(t *testing.T) { postgresBroker(postgresDB(t)).run(t) }

func postgresDB(t *testing.T) *sql.DB {
	db := must[*sql.DB](t)(sql.Open("postgres", address(t, "postgres")))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func postgresBroker(db *sql.DB) broker {
	return broker{
		official: adapter{
			publisher: func(t *testing.T) message.Publisher {
				return must[*wsql.Publisher](t)(wsql.NewPublisher(db, wsql.PublisherConfig{SchemaAdapter: wsql.DefaultPostgreSQLSchema{}, AutoInitializeSchema: true}, quiet))
			},
			subscriber: func(t *testing.T, group string) message.Subscriber {
				return must[*wsql.Subscriber](t)(wsql.NewSubscriber(db, wsql.SubscriberConfig{
					ConsumerGroup: group, SchemaAdapter: wsql.DefaultPostgreSQLSchema{}, OffsetsAdapter: wsql.DefaultPostgreSQLOffsetsAdapter{}, InitializeSchema: true,
				}, quiet))
			},
		},
	}
}
