package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"

	wsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	_ "github.com/lib/pq" // driver "postgres"

	"github.com/headrace/headrace/broker/postgres"
)

var postgresKind = brokerKind{
	name: "postgres", service: "postgres", variable: "HEADRACE_TEST_POSTGRES",
	connect: func(address string) brokerFixture { return postgresFixture{address, 100} },
	plain:   func(address string) brokerFixture { return watermillFixture{address} },
	same:    func(address string) brokerFixture { return postgresFixture{dsn: address} },
}

// postgresFixture has its queue on the server that has the effects too, in another database.
type postgresFixture struct {
	dsn string
	// window is how many rows are taken at least, however few are handled at once:
	// watermill-sql takes 100.
	window int
}

// closer closes the connections of what has them to itself.
type closer struct {
	message.Subscriber
	message.Publisher
	db *sql.DB
}

func (c closer) Close() error {
	if c.Subscriber != nil {
		return errors.Join(c.Subscriber.Close(), c.db.Close())
	}
	return errors.Join(c.Publisher.Close(), c.db.Close())
}

func (r postgresFixture) create(ctx context.Context, topic string) error {
	l, err := emptyLab()
	if err != nil {
		return err
	}
	db, err := sql.Open("postgres", r.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if err := postgres.Create(ctx, db, "public"); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, l.query("queue_empty")); err != nil {
		return err
	}
	s, err := postgres.NewSource(postgres.SourceOptions{DB: db, Group: "bench"})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it has no subscription
	return s.SubscribeInitialize(topic)
}

func (r postgresFixture) sink() (message.Publisher, error) {
	db, err := sql.Open("postgres", r.dsn)
	if err != nil {
		return nil, err
	}
	s, err := postgres.NewSink(postgres.SinkOptions{DB: db})
	return closer{Publisher: s, db: db}, err
}

func (r postgresFixture) source(inFlight int) (message.Subscriber, error) {
	db, err := sql.Open("postgres", r.dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	s, err := postgres.NewSource(postgres.SourceOptions{DB: db, Group: "bench", Window: max(inFlight, r.window), Logger: slog.New(slog.DiscardHandler)})
	return closer{Subscriber: s, db: db}, err
}

// watermillFixture is watermill-sql, which has one message in flight whatever it is asked. A
// topic is a table, which stays until the server goes.
type watermillFixture struct{ dsn string }

func (r watermillFixture) create(_ context.Context, topic string) error {
	s, err := r.source(1)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return s.(closer).Subscriber.(message.SubscribeInitializer).SubscribeInitialize(topic)
}

func (r watermillFixture) sink() (message.Publisher, error) {
	db, err := sql.Open("postgres", r.dsn)
	if err != nil {
		return nil, err
	}
	p, err := wsql.NewPublisher(db, wsql.PublisherConfig{SchemaAdapter: wsql.DefaultPostgreSQLSchema{}}, nil)
	return closer{Publisher: p, db: db}, err
}

func (r watermillFixture) source(int) (message.Subscriber, error) {
	db, err := sql.Open("postgres", r.dsn)
	if err != nil {
		return nil, err
	}
	s, err := wsql.NewSubscriber(db, wsql.SubscriberConfig{
		ConsumerGroup: "bench", SchemaAdapter: wsql.DefaultPostgreSQLSchema{}, OffsetsAdapter: wsql.DefaultPostgreSQLOffsetsAdapter{},
	}, nil)
	return closer{Subscriber: s, db: db}, err
}
