package store

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// ErrSchema matches the error of opening a database whose tables are missing, too
// old or too new for this version of headrace.
var ErrSchema = errors.New("schema does not fit")

// Store is one database. It is safe for concurrent use.
type Store interface {
	// Begin opens a transaction for writing: READ COMMITTED on PostgreSQL, BEGIN
	// IMMEDIATE on SQLite. It waits for a connection, and on SQLite for the write
	// lock, until ctx ends. The transaction itself does not end with ctx.
	Begin(ctx context.Context) (*txn.Txn, error)
	// Commit writes events into the outbox, checks that t is still the transaction
	// of its claim (inbox.ErrSwitched if not), and commits. Any other error than
	// one that matches txn.ErrRolledBack, txn.ErrCommitUnknown or inbox.ErrSwitched
	// comes from before COMMIT was sent. t has ended in every case.
	Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error
	// Ping asks whether the database answers a query at all, on a connection that
	// works, within ctx.
	Ping(ctx context.Context) error

	// Inbox, Backlog, Outbox and Letters are the tables that a message passes through.
	Inbox() inbox.Store
	Backlog() backlog.Tables
	Outbox() Outbox
	Letters() dlq.Store
	// Operations are the tables beside the way of a message.
	Operations() Operations
}

// Operations are the tables that serve whoever runs consumers.
type Operations struct {
	// Versions of entities, for inbox.Newer.
	Versions inbox.Versions
	// Pruner removes what retention lets go.
	Pruner inbox.Pruner
	// Finder finds keys that were never taken: see inbox.Missing.
	Finder inbox.Finder
	// Instances are the processes that run consumers.
	Instances instance.Store
	// Pauses are people's marks on consumers.
	Pauses instance.Pauses
	// Alerts wait to be passed on.
	Alerts alerts.Store
}

// Outbox is the outbox with what operators need of it.
type Outbox interface {
	outbox.Store
	outbox.Chooser
	outbox.Admin
}

// Migrator changes the schema. Both stores are one.
type Migrator interface {
	// Migrate applies what is missing, each migration in a transaction of its own,
	// and returns what it applied. Two at once are safe: one waits for the other.
	Migrate(ctx context.Context) ([]Migration, error)
	// Migrations returns all that this version knows, with when each was applied.
	Migrations(ctx context.Context) ([]Migration, error)
}

// Migration is a numbered change of the schema.
type Migration struct {
	// Version counts from 1; Name and SQL are those of its file.
	Version int    `json:"version"`
	Name    string `json:"name"`
	SQL     string `json:"-"`
	// Applied says whether this database has it.
	Applied bool      `json:"applied"`
	At      time.Time `json:"at,omitzero"` // when it was applied; zero if it was not
}

// Checker verifies the invariants that are visible in the tables.
type Checker interface {
	// Check runs each rule's query on one snapshot. A rule that does not hold is in
	// the report, not in the error.
	Check(ctx context.Context) (Report, error)
}

// Report is the outcome of a check.
type Report struct {
	// Rules are all that were checked, by name.
	Rules []RuleResult `json:"rules"`
}

// RuleResult is what the query of one rule found.
type RuleResult struct {
	Name string `json:"name"` // the file of the query, without its ending
	Says string `json:"says"` // the rule in words
	// Violations is how many rows break it, and Example names one of them.
	Violations int64  `json:"violations"`
	Example    string `json:"example,omitempty"`
}

// OK reports whether every rule holds.
func (r Report) OK() bool {
	for _, rule := range r.Rules {
		if rule.Violations > 0 {
			return false
		}
	}
	return true
}
