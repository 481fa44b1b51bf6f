package store

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// ErrSchema matches the error of a database whose tables are missing, too old for this
// version of headrace, or changed in a way that it cannot read.
var ErrSchema = errors.New("schema does not fit")

// Store is one database. It is safe for concurrent use.
type Store interface {
	Transactor
	// Ping checks that the database answers a query, on a connection that works, within
	// ctx.
	Ping(ctx context.Context) error

	// Inbox, Backlog, Outbox and Letters are the tables that a message passes through.
	Inbox() inbox.Store
	Backlog() backlog.Tables
	Outbox() Outbox
	Letters() dlq.Store
	// Operations are the tables for operators.
	Operations() Operations
}

// Operations are the tables that a message does not pass through.
type Operations struct {
	// Versions of entities, for inbox.Newer.
	Versions inbox.Versions
	// Pruner removes rows after their retention.
	Pruner inbox.Pruner
	// Finder finds keys that the inbox never had: see inbox.Missing.
	Finder inbox.Finder
	// Steps are the steps of leased handlers, StepAdmin is their interface for operators.
	Steps     ledger.Store
	StepAdmin ledger.Admin
	// Suspect is the mode after a restore, in which rows of steps may be lost.
	Suspect ledger.SuspectStore
	// Signals are the signals that messages wait for, in the table of the steps.
	Signals ledger.Signals
	// Memos are the results that steps share.
	Memos ledger.Memos
	// Systems are the pauses of the systems that steps call.
	Systems ledger.Systems
	// Schedules are those of package schedule.
	Schedules Schedules
	// Answers are what handlers answered to the intents of package intent.
	Answers Answers
	// Groups are the groups of dead letters.
	Groups groups.Store
	// Waiting looks at the rows of the backlog.
	Waiting backlog.Admin
	// Moves are changes that a person makes to rows of the backlog.
	Moves backlog.Moves
	// Corrections are edits of letters, and discards that are taken back.
	Corrections dlq.Corrections
	// Imports writes what comes from another database.
	Imports dlq.Imports
	// Rehearsals are for handlers that run on dead letters and are rolled back.
	Rehearsals Rehearsals
	// Limits bound transactions.
	Limits Limits
	// Instances are the runs of consumers.
	Instances instance.Store
	// Marks are the messages that instances currently run, while they search for a
	// message that ends them.
	Marks instance.Marks
	// Pauses are the pauses of consumers.
	Pauses instance.Pauses
	// Audit says who did what. The trail of a letter is in it too.
	Audit audit.Store
	// Requests are what people ask the processes of consumers to do.
	Requests instance.Requests
	// Subscriptions are those of consumers with local handlers.
	Subscriptions outbox.Subscriptions
	// Relays are the running relays of the outboxes.
	Relays outbox.Relays
	// Redrives are those of package job.
	Redrives job.Store
	// Conditions are what is wrong, and what sinks know of it.
	Conditions condition.Store
	// Schema is the schema itself.
	Schema Schema
}

// Schedule is a calendar whose ticks are messages: see package schedule.
type Schedule struct {
	// Name is unique in the database. Cron and Zone say when its ticks are due.
	Name, Cron, Zone string
	// Within is how long a tick may come after its time; the inbox remembers it for as long.
	Within time.Duration
	// Since is when it became known, or got its Cron or Zone: earlier ticks never come.
	Since time.Time
	// Seen is when a process last made its ticks; zero if none has.
	Seen time.Time
	// Fired is when a person asked for a tick, and FiredBy who; zero if no person has.
	Fired   time.Time
	FiredBy string
	// Checked is the time up to which package reconcile compared a source of truth with the
	// inbox; zero if it did not. Missing is how many items had no message in its last run, -1
	// without one.
	Checked time.Time
	Missing int64
	// GapFrom and GapTo bound the time that the last run could not compare, since its messages may
	// be pruned; zero for none.
	GapFrom, GapTo time.Time
	// Now is the time of the database.
	Now time.Time
}

// Schedules keeps schedules. Drivers implement it.
type Schedules interface {
	// Declare records the Name, Cron, Zone and Within of a schedule whose ticks this process makes,
	// and returns what is recorded.
	Declare(ctx context.Context, s Schedule) (Schedule, error)
	// Beat returns what is recorded of the schedule, and notes that a process makes its
	// ticks if Cron and Zone are those of s, at most every half minute. The Name is "" if
	// nothing is recorded.
	Beat(ctx context.Context, s Schedule) (Schedule, error)
	// Fire asks the processes for a tick, with an audit row, and reports false if there is no such
	// schedule, or its Fired is no longer last.
	Fire(ctx context.Context, name, by string, last time.Time) (bool, error)
	// Get returns what is recorded of a schedule. It reports false if there is nothing.
	Get(ctx context.Context, name string) (Schedule, bool, error)
	// List returns all, by name.
	List(ctx context.Context) ([]Schedule, error)
	// Compared records in q's transaction what a run has compared.
	Compared(ctx context.Context, q headrace.DBTX, name string, c Comparison) error
}

// Comparison is what a run of package reconcile has compared.
type Comparison struct {
	// To is the time up to which it compared; if a later one is recorded, nothing changes. Missing is
	// how many items had no message.
	To      time.Time
	Missing int64
	// GapFrom and GapTo are as in Schedule.
	GapFrom, GapTo time.Time
}

// Answer is what a handler answered to a message: see package intent.
type Answer struct {
	inbox.ID
	// Value is JSON.
	Value []byte
}

// Answers keeps answers, and looks for messages whose callers wait. Drivers implement it.
type Answers interface {
	// Put keeps answers to different messages in t, in place of earlier ones.
	Put(ctx context.Context, t *txn.Txn, answers []Answer) error
	// Get returns the JSON of an answer; nil if there is none.
	Get(ctx context.Context, id inbox.ID) ([]byte, error)
	// Find returns the rows of ids in the inbox, in any order, without Wait. It is one query.
	Find(ctx context.Context, ids []inbox.ID) ([]inbox.Entry, error)
}

// Rehearsals is what a rehearsal needs: a handler that runs on a dead letter in a transaction
// that is rolled back. Drivers implement it.
type Rehearsals interface {
	// Written returns a number that grows by one with each row that t writes into a table of
	// the program; -1 if the database does not count. SQLite counts rows of all tables.
	Written(ctx context.Context, t *txn.Txn) (int64, error)
	// Letters returns the ids of f's newest open letters, at most limit, and of the oldest one,
	// in their order. Of f it uses Consumer, Handler, Topic, Class and ErrorFingerprint.
	Letters(ctx context.Context, f dlq.Filter, limit int) ([]int64, error)
}

// Limits bound what a person has asked for, so that live work never waits long behind it. Drivers
// implement it.
type Limits interface {
	// Set bounds the rest of t: how long a statement waits for a lock, and the server's
	// limits. SQLite has none of them.
	Set(ctx context.Context, t *txn.Txn, lock time.Duration, limits txn.Limits) error
}

// Schema is the schema that a process works on. Drivers implement it.
type Schema interface {
	// Check returns the id of this database's headrace. The error matches ErrSchema if
	// this build cannot run on the schema, or no longer can.
	Check(ctx context.Context) (id string, err error)
	// NewID gives the database a new id, and returns it. Idempotency keys change with it:
	// it is for a copy that becomes a database of its own. The audit says who did it.
	NewID(ctx context.Context, by string) (id string, err error)
}

// Meta is what a database says of its schema.
type Meta struct {
	// ID is random, made by the first migration. A dump or copy of the database has it too.
	ID string
	// Version is the number of the last migration, and ReadableFrom the least number of
	// migrations of a build that can run on this schema.
	Version, ReadableFrom int
	// Fingerprint is that of the first migration, which a pre-release changes in place.
	Fingerprint string
}

// Outbox is the outbox with its interface for operators.
type Outbox interface {
	outbox.Store
	outbox.Admin
	// Line returns the line of this name (outbox.LineOf), as an outbox. Its Signal is also
	// set when that of the store's outbox is.
	Line(name string) Outbox
}

// Migrator changes the schema. Both stores implement it.
type Migrator interface {
	// Migrate applies missing migrations, and returns those that it applied. Concurrent
	// calls are safe: one waits for the other.
	Migrate(ctx context.Context) ([]Migration, error)
	// Migrations returns all migrations of this version, and whether each was applied; with an
	// error that matches ErrSchema if only newer versions can read the database.
	Migrations(ctx context.Context) ([]Migration, error)
}

// Migration is a numbered change of the schema.
type Migration struct {
	// Version counts from 1; Name and SQL are its file's.
	Version int    `json:"version"`
	Name    string `json:"name"`
	SQL     string `json:"-"`
	// Applied says whether this database has the migration.
	Applied bool `json:"applied"`
}

// Checker verifies the invariants that are visible in the tables.
type Checker interface {
	// Check runs each rule's query on one snapshot. A violated rule is in the report, not
	// in the error.
	Check(ctx context.Context) (Report, error)
}

// Report is the outcome of a check.
type Report struct {
	// Rules are all checked rules, by name.
	Rules []RuleResult `json:"rules"`
	// Warnings, by name, are for a person to look at; sound tables can have them.
	Warnings []RuleResult `json:"warnings"`
}

// RuleResult is the result of one rule's query.
type RuleResult struct {
	Name string `json:"name"` // the file of the query, without its extension
	Says string `json:"says"` // the rule in words
	// Violations is how many rows violate it; Example names one of them.
	Violations int64  `json:"violations"`
	Example    string `json:"example,omitempty"`
}

// OK reports whether every rule holds, whatever the warnings are.
func (r Report) OK() bool {
	for _, rule := range r.Rules {
		if rule.Violations > 0 {
			return false
		}
	}
	return true
}
