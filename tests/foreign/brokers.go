package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	_ "github.com/lib/pq" // driver "postgres"
	"github.com/nats-io/nats.go/jetstream"
	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/broker/kafka"
	"github.com/headrace/headrace/broker/nats"
	"github.com/headrace/headrace/broker/postgres"
	"github.com/headrace/headrace/broker/redis"
	"github.com/headrace/headrace/broker/sqs"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
)

// broker is one of those that are tried.
type broker struct {
	name, client string
	variable     string // has its address
	restart      bool   // it can be killed without the database of the effects
	options      []consumer.Option
	// open returns a source for topic, which it makes where it is missing.
	open func(ctx context.Context, address, topic string) (message.Subscriber, error)
}

// initializer is what most of our sources are.
type initializer interface {
	message.Subscriber
	SubscribeInitialize(topic string) error
}

func made[S initializer](s S, err error, topic string) (message.Subscriber, error) {
	if err != nil {
		return nil, err
	}
	return s, s.SubscribeInitialize(topic)
}

var brokers = []broker{
	{name: "kafka", client: "confluent-kafka", variable: "HEADRACE_TEST_KAFKA", restart: true,
		open: func(_ context.Context, address, topic string) (message.Subscriber, error) {
			s, err := kafka.NewSource(kafka.SourceOptions{Brokers: []string{address}, Group: topic, SessionTimeout: 6 * time.Second, NewTopic: kafka.NewTopic{Partitions: 4}})
			return made(s, err, topic)
		}},
	{name: "rabbitmq", client: "pika", variable: "HEADRACE_TEST_RABBITMQ", restart: true,
		open: func(_ context.Context, address, topic string) (message.Subscriber, error) {
			s, err := amqp.NewSource(amqp.SourceOptions{
				Server: amqp.Server{URL: address, Heartbeat: 2 * time.Second}, Topology: amqp.Topology{Declare: amqp.Quorum, DeliveryLimit: amqp.Unlimited},
			})
			return made(s, err, topic)
		}},
	{name: "sqs", client: "boto3", variable: "HEADRACE_TEST_SQS", restart: true, options: []consumer.Option{consumer.Key(inbox.JSON("n"))},
		open: func(ctx context.Context, address, topic string) (message.Subscriber, error) {
			client := awssqs.New(awssqs.Options{BaseEndpoint: &address, Region: "elasticmq", Credentials: aws.AnonymousCredentials{}})
			if _, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &topic}); err != nil {
				return nil, err
			}
			return sqs.NewSource(sqs.SourceOptions{Client: client, WaitTime: time.Second, Visibility: 5 * time.Second})
		}},
	{name: "nats", client: "nats-py", variable: "HEADRACE_TEST_NATS", restart: true,
		open: func(_ context.Context, address, topic string) (message.Subscriber, error) {
			s, err := nats.NewSource(nats.SourceOptions{Server: nats.Server{URL: address}, Durable: "foreign", AckWait: 5 * time.Second, Provision: func(topic string) jetstream.StreamConfig {
				return jetstream.StreamConfig{Name: topic, Subjects: []string{topic}}
			}})
			return made(s, err, topic)
		}},
	{name: "redis", client: "redis-py", variable: "HEADRACE_TEST_REDIS", restart: true, options: []consumer.Option{consumer.Key(inbox.JSON("n"))},
		open: func(_ context.Context, address, _ string) (message.Subscriber, error) {
			return redis.NewSource(redis.SourceOptions{
				Client: goredis.NewClient(&goredis.Options{Addr: address}), Group: "foreign", Scalars: true, ClaimAfter: 3 * time.Second,
			})
		}},
	{name: "postgres", client: "psycopg", variable: "HEADRACE_TEST_POSTGRES",
		open: func(ctx context.Context, address, topic string) (message.Subscriber, error) {
			u, err := url.Parse(address)
			if err != nil {
				return nil, err
			}
			values := u.Query()
			schema := values.Get("schema")
			values.Del("schema")
			u.RawQuery = values.Encode()
			db, err := sql.Open("postgres", u.String())
			if err != nil {
				return nil, err
			}
			if err := postgres.Create(ctx, db, schema); err != nil {
				return nil, fmt.Errorf("make the queue: %w", err)
			}
			s, err := postgres.NewSource(postgres.SourceOptions{DB: db, Schema: schema, Group: "foreign", Lease: 3 * time.Second})
			return made(s, err, topic)
		}},
}
