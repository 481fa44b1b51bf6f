package postgres

import (
	"database/sql"
	"errors"
	"fmt"

	watermillsql "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/outbox"
)

// OutboxSchema lets watermill-sql's Publisher write into the outbox, for programs that
// use it already. Store.OutboxSchema makes one. New programs should use
// outbox.NewPublisher: it does the same with fewer rules, on both databases.
//
//	publisher, err := watermillsql.NewPublisher(tx, watermillsql.PublisherConfig{SchemaAdapter: st.OutboxSchema(outbox.PublisherOptions{})}, logger)
//
// watermill-sql's Publisher has these limits of its own:
//
//   - It belongs to the transaction that it was made with: one Publisher for each. If made
//     with a *sql.DB it commits the events alone, even if the rest fails.
//   - It runs its statement with context.Background(), so neither the messages' contexts nor
//     the caller's bound it. The context of BeginTx does, whose end rolls back, and so does the
//     server's statement_timeout.
//   - It rejects topics with characters other than A-Z a-z 0-9 - $ : . and _, before
//     anything is written. The outbox itself accepts any topic.
//   - At the level Trace it logs the statement's arguments, payloads included.
//   - Leave AutoInitializeSchema off: there is nothing to initialize, and with a
//     transaction it is an error.
//
// After the commit, wake the relay: st.Outbox().Signal().Wake().
//
// It serves Publishers only. A Subscriber made with it receives nothing, and logs an
// error that says so. In the handler of another watermill-sql Subscriber, never write
// effects through its TxFromContext: that transaction is not rolled back after a nack.
type OutboxSchema struct {
	insert  inserts
	refusal string
	options outbox.PublisherOptions
}

// OutboxSchema returns the SchemaAdapter that writes into this store's outbox.
func (s *Store) OutboxSchema(options outbox.PublisherOptions) OutboxSchema {
	return OutboxSchema{insert: s.insert, refusal: s.refusal, options: options}
}

var errNoSchema = errors.New("OutboxSchema is empty: take it from Store.OutboxSchema")

// InsertQuery returns one statement that writes all messages into the outbox, also if
// there are none. The error matches headrace.ErrInvalidEvent if a message is not a valid
// event or the topic is empty; then nothing was sent to the database.
func (o OutboxSchema) InsertQuery(topic string, messages message.Messages) (watermillsql.Query, error) {
	if o.insert.ready == "" {
		return watermillsql.Query{}, errNoSchema
	}
	rows := make([]outbox.Row, 0, len(messages))
	for i, m := range messages {
		event, err := o.options.Event(topic, m)
		if err != nil {
			return watermillsql.Query{}, fmt.Errorf("message %d: %w", i, err)
		}
		rows = append(rows, outbox.RowOf(event))
	}
	query, args, err := o.insert.of(rows, "")
	if err != nil {
		return watermillsql.Query{}, err
	}
	return watermillsql.Query{Query: query, Args: args}, nil
}

// SchemaInitializingQueries returns none: migrations make the tables.
func (OutboxSchema) SchemaInitializingQueries(string) []watermillsql.Query { return nil }

// errNotSubscribed has the text of SelectQuery's error.
var errNotSubscribed = errors.New("the outbox of headrace is published by its relay; it has no subscribers")

// SelectQuery returns a statement that fails: an outbox has no subscribers.
func (o OutboxSchema) SelectQuery(string, string, watermillsql.OffsetsAdapter) watermillsql.Query {
	return watermillsql.Query{Query: o.refusal}
}

// UnmarshalMessage returns an error: an outbox has no subscribers.
func (OutboxSchema) UnmarshalMessage(watermillsql.Scanner) (watermillsql.Row, error) {
	return watermillsql.Row{}, errNotSubscribed
}

// SubscribeIsolationLevel returns the isolation level of Subscribers; see SelectQuery.
func (OutboxSchema) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelReadCommitted }

var _ watermillsql.SchemaAdapter = OutboxSchema{}
