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
// use it already. Store.OutboxSchema makes one. outbox.NewPublisher does the same with
// fewer rules, on both databases, and is the better choice where nothing is there yet.
//
//	publisher, err := watermillsql.NewPublisher(tx, watermillsql.PublisherConfig{SchemaAdapter: st.OutboxSchema(outbox.PublisherOptions{})}, logger)
//
// What watermill-sql's Publisher does by itself, and nobody here can change:
//
//   - It belongs to the transaction that it was made with: one Publisher for each. Made
//     with a *sql.DB it commits the events alone, whatever becomes of the rest.
//   - It runs its statement with context.Background(): neither the messages' contexts nor
//     the caller's bound it. The context of BeginTx does, whose end rolls back, and the
//     server's statement_timeout.
//   - It refuses topics with other characters than A-Z a-z 0-9 - $ : . and _, before
//     anything is written. The outbox itself takes any topic.
//   - At the level Trace it logs the statement's arguments, payloads included.
//   - Leave AutoInitializeSchema off: there is nothing to initialize, and it is refused
//     with a transaction.
//
// After the commit, wake the relay: st.Outbox().Signal().Wake().
//
// It serves Publishers only. A Subscriber made with it receives nothing, and logs an
// error that says so. In the handler of another watermill-sql Subscriber, never write
// effects through its TxFromContext: after a nack that transaction is not rolled back.
type OutboxSchema struct {
	insert  inserts
	refusal string
	options outbox.PublisherOptions
}

// OutboxSchema returns the SchemaAdapter that writes into this store's outbox.
func (s *Store) OutboxSchema(options outbox.PublisherOptions) OutboxSchema {
	if options.OrderKey == nil {
		options.OrderKey = func(string, *message.Message) string { return "" }
	}
	return OutboxSchema{insert: s.outbox.insert, refusal: s.outbox.refusal, options: options}
}

var errNoSchema = errors.New("OutboxSchema is empty: take it from Store.OutboxSchema")

// InsertQuery returns the statement that writes messages into the outbox, one for all of
// them and also for none. The error matches headrace.ErrInvalidEvent where a message
// cannot be an event or the topic is empty; then nothing was sent to the database.
func (o OutboxSchema) InsertQuery(topic string, messages message.Messages) (watermillsql.Query, error) {
	if o.insert.ready == "" {
		return watermillsql.Query{}, errNoSchema
	}
	rows := make([]outbox.Row, 0, len(messages))
	for i, m := range messages {
		event, err := outbox.EventOf(topic, m, o.options.OrderKey(topic, m)).Encode(nil)
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

// errNotSubscribed says what the statement of SelectQuery says.
var errNotSubscribed = errors.New("the outbox of headrace is published by its relay; nobody can subscribe to it")

// SelectQuery returns a statement that fails and says why: nobody subscribes to an
// outbox.
func (o OutboxSchema) SelectQuery(string, string, watermillsql.OffsetsAdapter) watermillsql.Query {
	return watermillsql.Query{Query: o.refusal}
}

// UnmarshalMessage refuses: nobody subscribes to an outbox.
func (OutboxSchema) UnmarshalMessage(watermillsql.Scanner) (watermillsql.Row, error) {
	return watermillsql.Row{}, errNotSubscribed
}

// SubscribeIsolationLevel returns what Subscribers begin with; see SelectQuery.
func (OutboxSchema) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelReadCommitted }

var _ watermillsql.SchemaAdapter = OutboxSchema{}
