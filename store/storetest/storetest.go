package storetest

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/headrace/headrace/store"
)

// Harness makes stores of one driver.
type Harness struct {
	Capabilities
	// New returns a fresh store whose migrations are applied. Both handles are closed
	// by tb.Cleanup. It may be called from many tests at once.
	New func(tb testing.TB) Instance
	// Empty returns two stores on one database without tables of ours, as two
	// processes would open them before they migrate. Closed by tb.Cleanup.
	Empty func(tb testing.TB) (store.Migrator, store.Migrator)
}

// Instance is a fresh store.
type Instance struct {
	// Store is also a store.Migrator and a store.Checker.
	Store store.Store
	// DB is another handle on the same database, for the suite's own tables and
	// queries. A name without a schema means one in Schema.
	DB *sql.DB
	// Schema is what {{schema}} becomes: quoted for the dialect.
	Schema string
	// Shift has the database's clock run ahead by d, for all sessions: what {{now}} says
	// in the statements of the store is that much later than it is.
	Shift func(ctx context.Context, d time.Duration) error
	// Reopen returns another store on the same database, as another process would
	// open it. It is closed by the Cleanup of New's tb, before the database goes.
	Reopen func() store.Store
	// Waiters says how many sessions of Store wait for a lock at this moment.
	// Required with ConcurrentWriters.
	Waiters func(ctx context.Context) (int, error)
}

// Capabilities say what a database can do. The zero value is a database with one
// writer at a time, on which a failed statement leaves its transaction usable.
type Capabilities struct {
	// ConcurrentWriters: two transactions may write at once, and meet at the rows.
	// Without it Begin waits for the transaction that is open.
	ConcurrentWriters bool
	// AbortsOnError: a failed statement aborts its transaction, which can then only
	// roll back.
	AbortsOnError bool
	// ServerLimits: the server ends what exceeds the txn.Limits of Claim, LockShard and
	// Fence.
	ServerLimits bool
	// ChecksDeferred: Txn.CheckDeferred checks the deferred constraints.
	ChecksDeferred bool
}

type test struct {
	name string
	run  func(*bundle)
	// needs says which databases can run it; nil means all.
	needs func(Capabilities) bool
}

func concurrentWriters(c Capabilities) bool { return c.ConcurrentWriters }
func oneWriter(c Capabilities) bool         { return !c.ConcurrentWriters }
func serverLimits(c Capabilities) bool      { return c.ServerLimits }

// suite is the tests, but for those of the migrations.
var suite = []struct {
	name  string
	tests []test
}{
	{"Claim", claimTests},
	{"Group", groupTests},
	{"Outcome", outcomeTests},
	{"Attempts", attemptTests},
	{"Commit", commitTests},
	{"Backlog", backlogTests},
	{"Read", readTests},
	{"Shard", shardTests},
	{"Processes", processTests},
	{"Order", orderTests},
	{"Leases", leaseTests},
	{"Fence", fenceTests},
	{"Outbox", outboxTests},
	{"Subscriptions", subscriptionTests},
	{"Late", lateTests},
	{"Held", heldTests},
	{"Relays", relayTests},
	{"Letters", letterTests},
	{"Groups", groupsTests},
	{"Take", takeTests},
	{"Redrives", redriveTests},
	{"Conditions", conditionTests},
	{"Version", versionTests},
	{"Instances", instanceTests},
	{"Marks", markTests},
	{"Schema", schemaTests},
	{"Pauses", pauseTests},
	{"Requests", requestTests},
	{"Audit", auditTests},
	{"Corrections", correctionTests},
	{"Imports", importTests},
	{"Steps", stepTests},
	{"Suspect", suspectTests},
	{"Signals", signalTests},
	{"Memos", memoTests},
	{"Systems", systemTests},
	{"Schedules", scheduleTests},
	{"Answers", answerTests},
	{"Prune", pruneTests},
	{"Missing", missingTests},
	{"Waiting", waitingTests},
	{"Check", checkTests},
	{"Model", modelTests},
}

// Run puts the driver through all tests, as subtests of t.
func Run(t *testing.T, h Harness) {
	for _, group := range suite {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel() // a group does not wait for the one before it
			for _, tt := range group.tests {
				if tt.needs == nil || tt.needs(h.Capabilities) {
					t.Run(tt.name, func(t *testing.T) { tt.run(setup(t, h)) })
				}
			}
		})
	}
	t.Run("Migrate", func(t *testing.T) {
		for _, tt := range migrateTests {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				tt.run(t, h)
			})
		}
	})
}
