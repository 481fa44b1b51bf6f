package outbox

import (
	"context"
	"errors"
	"strings"
	"time"
)

// linePrefix begins the names of lines. No outbox of a store has a slash in its name.
const linePrefix = "local/"

// Unclaimed is the name of the line of Local events whose topic has no subscription. They
// wait there until a consumer subscribes.
const Unclaimed = linePrefix

// LineOf returns the name of a consumer's line: the events that wait for its local
// handlers. A line is kept in the same tables as an outbox, under this name.
func LineOf(consumer string) string { return linePrefix + consumer }

// ConsumerOf returns the consumer whose line has this name; "" for Unclaimed. It reports
// whether name is that of a line.
func ConsumerOf(name string) (consumer string, line bool) { return strings.CutPrefix(name, linePrefix) }

// Subscription says that a consumer gets the events of a topic.
type Subscription struct {
	// Topic and Consumer name it.
	Topic    string
	Consumer string
	// Created is when it began, and Age how long ago a running process of the consumer
	// last had a handler for the topic, both by the database's clock.
	Created time.Time
	Age     time.Duration
}

// ErrPublished matches the error of Localize if a process publishes the outbox.
var ErrPublished = errors.New("a process publishes the outbox")

// ErrRowsWait matches the error of Remove if events wait for the subscription.
var ErrRowsWait = errors.New("events wait for this subscription")

// Unseen is how long a subscription may go without a process that says that it has a handler
// for it, before no process counts as having one. A process says so every 30 seconds.
const Unseen = 2 * time.Minute

// ErrRuns matches the error of Move if a process of the consumer that is renamed runs, and
// that of Remove if one runs and has a handler for the subscription.
var ErrRuns = errors.New("a process of the consumer runs")

// Changed says what Move or Remove changed, or for ErrRowsWait would have.
type Changed struct {
	Subscriptions int // subscriptions
	Rows          int // events that waited
}

// Subscriptions are the subscriptions of a database's consumers. Drivers implement it.
// Each method waits for the database until ctx ends.
//
// An event is copied for the subscriptions that its publisher's statement sees. A
// transaction that wrote before a change, and commits after it, goes by the old
// subscriptions: Sweep finds its Local events, and Move and Remove can be called again.
type Subscriptions interface {
	// Subscribe adds the subscriptions that are missing, and records that a process has
	// handlers for them: topics has those of each consumer, by its name. All are there at one
	// moment, so that an event between them is not for some of the consumers only. Call it
	// again and again.
	Subscribe(ctx context.Context, topics map[string][]string) error
	// Sweep moves events from the line Unclaimed to the lines of all consumers that are
	// subscribed to their topics by now, some hundreds in a transaction, and returns how
	// many it moved. They keep their RowIDs, so their order is kept.
	Sweep(ctx context.Context) (int, error)
	// Localize makes the events of these topics (of all, if there are none given) in the outbox
	// called name Local after all, in one transaction, and returns how many went to the line
	// Unclaimed. The others, which are gone, were copied for subscribed consumers when they
	// were published. What a sink had refused is ready. If a process publishes the outbox, or waits for its turn, it changes nothing,
	// and the error matches ErrPublished.
	Localize(ctx context.Context, name string, topics []string, by string) (unclaimed, gone int, err error)
	// List returns the subscriptions of a consumer, or of all for "", by consumer and topic.
	List(ctx context.Context, consumer string) ([]Subscription, error)
	// Move gives the subscriptions and the line of one consumer to another, and makes it an
	// owner of the outboxes that the first one owns, in one transaction: the consumer was renamed. An event that is on both lines stays once. If
	// an instance of from runs (see package instance), or one works on its line, Move changes
	// nothing, and the error matches ErrRuns: an event that it has just taken would be
	// handled under both names. The inbox, backlog and dead letters of from stay as they are.
	Move(ctx context.Context, from, to, by string) (Changed, error)
	// Remove deletes the consumer's subscriptions to topics (all, if there are none given).
	// If events of these topics wait on its line it deletes them too if rows is true;
	// otherwise it changes nothing, and the error matches ErrRowsWait. If an instance of the
	// consumer runs, and one has had a handler for one of the topics within Unseen, Remove
	// changes nothing, and the error matches ErrRuns: the process would subscribe again, and
	// the events in between would not reach it.
	Remove(ctx context.Context, consumer string, topics []string, rows bool, by string) (Changed, error)
}
