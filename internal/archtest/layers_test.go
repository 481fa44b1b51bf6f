package archtest

// The layers. A new package of ours is added to one of these sets.
var (
	// Domain is what everything else speaks: types, rules, and interfaces in these types.
	Domain = Set{
		".", "./alerts", "./audit", "./backlog", "./codec", "./codec/cloudevents", "./dlq", "./dlq/from", "./dlq/export", "./dlq/groups", "./dlq/job", "./dlq/redrive", "./dlq/search", "./inbox", "./instance", "./ledger", "./ledger/resolve", "./outbox", "./redact", "./retry", "./store", "./store/txn", "./ui/who", "./alerts/sinks", "./alerts/condition",
		"./internal/attempt", "./internal/encode", "./internal/gather", "./internal/header", "./internal/inspect", "./internal/jsontext", "./internal/shard", "./internal/sleep",
	}
	// Leaves are packages of the domain that know no other package of ours.
	Leaves = Set{"./store/txn", "./internal/attempt", "./internal/encode", "./internal/gather", "./internal/header", "./internal/jsontext", "./internal/shard", "./internal/sleep", "./redact", "./ui/who"}
	// Engines move messages.
	Engines = Set{
		"./internal/alerting", "./internal/batch", "./internal/breaker", "./internal/counting", "./internal/crashguard", "./internal/dispatch", "./internal/drain", "./internal/editing", "./internal/execute", "./internal/failurelog", "./internal/intervene", "./internal/depths",
		"./internal/judge", "./internal/lease", "./internal/local", "./internal/outage", "./internal/outboxread", "./internal/outcome", "./internal/pause", "./internal/plan", "./internal/prune", "./internal/publish", "./internal/serving", "./internal/maintenance", "./internal/stranded", "./internal/ready", "./internal/redriving", "./internal/rehearsal", "./internal/reporting",
		"./internal/runner", "./internal/steps", "./internal/subscription", "./internal/systems", "./internal/task", "./internal/watching", "./outbox/relay",
	}
	// Observers tell OpenTelemetry what the engines and the runtime do.
	Observers = Set{"./internal/telemetry"}
	// Runtime puts the engines into the order of the pipeline.
	Runtime = Set{"./consumer", "./internal/mistake", "./internal/router", "./internal/runtime", "./internal/unused"}
	// Drivers speak a database's dialect, with what they share.
	Drivers = Set{"./store/postgres", "./store/sqlite", "./internal/migrate", "./internal/sqladmin", "./internal/sqlconditions", "./internal/sqlfile", "./internal/sqlgroups", "./internal/sqljobs", "./internal/sqlops", "./internal/sqlrequests", "./internal/sqlrun", "./internal/sqlsearch", "./internal/sqlstore"}
	// Adapters connect to brokers, to senders of webhooks, and to callers.
	Adapters = Set{"./broker/...", "./intent", "./reconcile", "./schedule", "./webhook"}
	// Pages show a database to people. They speak to its processes as the command does.
	Pages = Set{"./ui", "./ui/admin", "./ui/answer", "./ui/asked", "./ui/frame", "./ui/login", "./ui/read", "./ui/view"}
	// Wiring chooses and connects; it may import anything.
	Wiring = Set{"./cmd/...", "./examples/...", "./scripts/...", "./tests/..."}
	// Suites are called by tests only, and may import what tests import.
	Suites = Set{"./store/storetest", "./consumer/consumertest", "./broker/brokertest", "./internal/pgtest/...", "./internal/memsource", "./internal/fault", "./internal/enginetest", "./internal/freeport", "./internal/unprivileged"}
	// Tools check the tree.
	Tools = Set{"./internal/archtest"}
)

// Packages of others that only some may import.
var (
	// DatabaseDrivers are the database/sql drivers.
	DatabaseDrivers = union(PostgresDrivers, SQLiteDrivers)
	// PostgresDrivers speak PostgreSQL's protocol.
	PostgresDrivers = Set{"github.com/lib/pq/...", "github.com/jackc/..."}
	// SQLiteDrivers hold SQLite.
	SQLiteDrivers = Set{"modernc.org/..."}
	// TestLibraries belong in tests and in the suites that tests call.
	TestLibraries = Set{
		"testing/...", "net/http/httptest", "go.uber.org/goleak/...", "pgregory.net/rapid/...",
		"github.com/google/go-cmp/...", "github.com/rogpeppe/go-internal/...", "github.com/Shopify/toxiproxy/...",
	}
	// Pipelines record and export what the OpenTelemetry API is told.
	Pipelines = Set{
		"go.opentelemetry.io/otel/sdk/...", "go.opentelemetry.io/otel/exporters/...", "go.opentelemetry.io/contrib/...",
		"github.com/prometheus/...",
	}
	// Observability is the API and what stands behind it.
	Observability = union(Set{"go.opentelemetry.io/..."}, Pipelines)
	// WatermillTraps are parts of Watermill, and one of its adapters, of which docs/traps.md
	// tells what they do to messages.
	WatermillTraps = Set{
		"github.com/ThreeDotsLabs/watermill/message/router/middleware", "github.com/ThreeDotsLabs/watermill/components/forwarder",
		"github.com/ThreeDotsLabs/watermill/components/requeuer", "github.com/ThreeDotsLabs/watermill/components/delay",
		"github.com/ThreeDotsLabs/watermill/tools/...", "github.com/ThreeDotsLabs/watermill-sqlite/...",
	}
	// Terminal draws and parses what a person at a terminal sees and types.
	Terminal = Set{"github.com/spf13/...", "github.com/vbauerster/..."}
)

// Placed is every package that stands in a layer.
var Placed = union(Domain, Engines, Observers, Runtime, Drivers, Adapters, Pages, Wiring, Suites, Tools)

func union(sets ...Set) Set {
	var all Set
	for _, set := range sets {
		all = append(all, set...)
	}
	return all
}
