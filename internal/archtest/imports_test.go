package archtest

var importCases = []ruleCase{
	{
		rule: "the domain stands at the bottom",
		files: map[string]string{
			"inbox/a.go":           importing("inbox", ".", "./internal/drain"),
			"retry/a.go":           importing("retry", "./store/sqlite"),
			"retry/a_test.go":      importing("retry", "./consumer"),
			"outbox/relay/a.go":    importing("relay", "./outbox"),
			"store/storetest/a.go": importing("storetest", "./store/postgres"),
			"a.go":                 importing("headrace", "./consumer"),
		},
		want: []string{".: imports ./consumer", "./inbox: imports ./internal/drain", "./retry: imports ./store/sqlite"},
	},
	{
		rule: "the domain knows no database driver",
		files: map[string]string{
			// Through a package without a place, told once, and where it begins.
			"inbox/a.go":         importing("inbox", "./internal/odd"),
			"internal/odd/a.go":  importing("odd", "github.com/lib/pq"),
			"outbox/a.go":        importing("outbox", "./inbox", "database/sql"),
			"store/a.go":         importing("store", "github.com/jackc/pgx/v5/stdlib"),
			"store/sqlite/a.go":  importing("sqlite", "modernc.org/sqlite"),
			"dlq/a_windows.go":   importing("dlq", "modernc.org/sqlite"),
			"dlq/driver_test.go": importing("dlq", "github.com/lib/pq"),
		},
		want: []string{
			"./dlq: imports modernc.org/sqlite",
			"./inbox: imports ./internal/odd, which imports github.com/lib/pq",
			"./store: imports github.com/jackc/pgx/v5/stdlib",
		},
	},
	{
		rule: "leaves know nothing of ours",
		files: map[string]string{
			"store/txn/a.go":       importing("txn", "database/sql", "."),
			"internal/shard/a.go":  importing("shard", "github.com/google/uuid", "hash/fnv"),
			"internal/encode/a.go": importing("encode", "unicode/utf8"),
			"a.go":                 importing("headrace", "./store/txn"),
		},
		want: []string{"./internal/shard: imports github.com/google/uuid", "./store/txn: imports ."},
	},
	{
		rule: "engines know the domain only",
		files: map[string]string{
			"internal/drain/a.go": importing("drain", "./backlog", "./store"),
			"internal/batch/a.go": importing("batch", "./consumer", "./internal/drain"),
			"outbox/relay/a.go":   importing("relay", "github.com/lib/pq"),
		},
		want: []string{"./internal/batch: imports ./consumer", "./outbox/relay: imports github.com/lib/pq"},
	},
	{
		rule: "the runtime knows no driver",
		files: map[string]string{
			"consumer/a.go":              importing("consumer", "./internal/drain", "./store", "./broker/kafka", "./store/postgres"),
			"consumer/consumertest/a.go": importing("consumertest", "./store/sqlite"),
		},
		want: []string{"./consumer: imports ./broker/kafka", "./consumer: imports ./store/postgres"},
	},
	{
		rule: "drivers know the domain only",
		files: map[string]string{
			"store/sqlite/a.go":     importing("sqlite", "./inbox", "./internal/migrate", "./internal/drain"),
			"store/postgres/a.go":   importing("postgres", "./outbox/relay", "github.com/lib/pq"),
			"internal/migrate/a.go": importing("migrate", "./consumer"),
		},
		want: []string{
			"./internal/migrate: imports ./consumer", "./store/postgres: imports ./outbox/relay", "./store/sqlite: imports ./internal/drain",
		},
	},
	{
		rule: "the judge knows no store",
		files: map[string]string{
			"internal/judge/a.go": importing("judge", "./store/txn", "./store", "errors"),
			"internal/batch/a.go": importing("batch", "./inbox"),
		},
		want: []string{"./internal/judge: imports ./store"},
	},
	{
		rule: "postgres is not sqlite",
		files: map[string]string{
			"store/postgres/a.go": importing("postgres", "modernc.org/sqlite", "./store/sqlite", "github.com/lib/pq"),
		},
		want: []string{"./store/postgres: imports ./store/sqlite", "./store/postgres: imports modernc.org/sqlite"},
	},
	{
		rule: "sqlite is not postgres",
		files: map[string]string{
			"store/sqlite/a.go": importing("sqlite", "modernc.org/sqlite", "./store/postgres", "github.com/jackc/pgx/v5"),
		},
		want: []string{"./store/sqlite: imports ./store/postgres", "./store/sqlite: imports github.com/jackc/pgx/v5"},
	},
	{
		rule: "what drivers share knows none of them",
		files: map[string]string{
			"internal/migrate/a.go": importing("migrate", "database/sql", "./store", "./store/sqlite", "github.com/lib/pq"),
		},
		want: []string{"./internal/migrate: imports ./store/sqlite", "./internal/migrate: imports github.com/lib/pq"},
	},
	{
		rule: "adapters know no driver",
		files: map[string]string{
			"broker/kafka/a.go": importing("kafka", "./consumer", "./store/postgres"),
			"broker/nats/a.go":  importing("nats", "./dlq", "modernc.org/sqlite"),
		},
		want: []string{"./broker/kafka: imports ./store/postgres", "./broker/nats: imports modernc.org/sqlite"},
	},
	{
		rule: "pages know no driver",
		files: map[string]string{
			"ui/a.go":      importing("ui", "./store/sqlite", "./dlq"),
			"ui/view/a.go": importing("view", "./consumer"),
		},
		want: []string{"./ui: imports ./store/sqlite", "./ui/view: imports ./consumer"},
	},
	{
		rule: "tests stay out of binaries",
		files: map[string]string{
			"consumer/a.go":              importing("consumer", "testing/synctest"),
			"consumer/a_test.go":         importing("consumer", "go.uber.org/goleak"),
			"cmd/headrace/main.go":       importing("main", "./internal/pgtest"),
			"internal/pgtest/a.go":       importing("pgtest", "testing"),
			"store/storetest/a.go":       importing("storetest", "testing", "pgregory.net/rapid"),
			"consumer/consumertest/a.go": importing("consumertest", "testing"),
			"tests/crash/a.go":           importing("crash", "github.com/google/go-cmp/cmp"),
			"retry/a.go":                 importing("retry", "github.com/rogpeppe/go-internal/testscript"),
		},
		want: []string{
			"./cmd/headrace: imports ./internal/pgtest, which imports testing",
			"./consumer: imports testing/synctest",
			"./retry: imports github.com/rogpeppe/go-internal/testscript",
		},
	},
	{
		rule: "the domain is not observed",
		files: map[string]string{
			"retry/a.go":        importing("retry", "go.opentelemetry.io/otel/trace"),
			"inbox/a.go":        importing("inbox", "./internal/telemetry"),
			"inbox/a_test.go":   importing("inbox", "go.opentelemetry.io/otel/sdk/trace"),
			"outbox/relay/a.go": importing("relay", "./internal/telemetry", "go.opentelemetry.io/otel/trace"),
		},
		want: []string{"./inbox: imports ./internal/telemetry", "./retry: imports go.opentelemetry.io/otel/trace"},
	},
	{
		rule: "what observes knows the domain only",
		files: map[string]string{
			"internal/telemetry/a.go": importing("telemetry", ".", "./retry", "./internal/batch", "go.opentelemetry.io/otel"),
		},
		want: []string{"./internal/telemetry: imports ./internal/batch"},
	},
	{
		rule: "only wiring chooses an SDK",
		files: map[string]string{
			"consumer/a.go":           importing("consumer", "go.opentelemetry.io/otel", "go.opentelemetry.io/otel/sdk/metric"),
			"consumer/a_test.go":      importing("consumer", "go.opentelemetry.io/otel/sdk/trace/tracetest"),
			"internal/telemetry/a.go": importing("telemetry", "github.com/prometheus/client_golang/prometheus"),
			"examples/orders/a.go":    importing("main", "go.opentelemetry.io/otel/exporters/prometheus"),
		},
		want: []string{
			"./consumer: imports go.opentelemetry.io/otel/sdk/metric",
			"./internal/telemetry: imports github.com/prometheus/client_golang/prometheus",
		},
	},
	{
		rule: "only wiring talks to a terminal",
		files: map[string]string{
			"cmd/headrace/main.go": importing("main", "github.com/spf13/cobra", "github.com/vbauerster/mpb/v8"),
			"dlq/a.go":             importing("dlq", "github.com/vbauerster/mpb/v8"),
			"internal/drain/a.go":  importing("drain", "github.com/spf13/cobra"),
		},
		want: []string{"./dlq: imports github.com/vbauerster/mpb/v8", "./internal/drain: imports github.com/spf13/cobra"},
	},
	{
		rule: "Watermill's middlewares and components are not used",
		files: map[string]string{
			"consumer/a.go":       importing("consumer", "github.com/ThreeDotsLabs/watermill/message", "github.com/ThreeDotsLabs/watermill/message/router/middleware"),
			"examples/a.go":       importing("examples", "github.com/ThreeDotsLabs/watermill/components/forwarder"),
			"outbox/relay/a.go":   importing("relay", "github.com/ThreeDotsLabs/watermill/components/forwarder"),
			"internal/chain/a.go": importing("chain", "github.com/ThreeDotsLabs/watermill"),
		},
		want: []string{
			"./consumer: imports github.com/ThreeDotsLabs/watermill/message/router/middleware",
			"./outbox/relay: imports github.com/ThreeDotsLabs/watermill/components/forwarder",
		},
	},
	{
		rule: "watermill-sql serves publishers only",
		files: map[string]string{
			"store/postgres/a.go": importing("postgres", "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"),
			"consumer/a.go":       importing("consumer", "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"),
			"tests/bench/a.go":    importing("main", "github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"),
		},
		want: []string{"./consumer: imports github.com/ThreeDotsLabs/watermill-sql/v3/pkg/sql"},
	},
	{
		rule: "pgtest knows nothing of ours",
		files: map[string]string{
			"internal/pgtest/a.go":      importing("pgtest", "github.com/lib/pq", "./store"),
			"internal/pgtest/a_test.go": importing("pgtest", "./store/txn"),
		},
		want: []string{"./internal/pgtest: imports ./store"},
	},
	{
		rule: "every package has a place",
		files: map[string]string{
			"a.go":                      "package headrace",
			"internal/odd/a.go":         "package odd",
			"inbox/inboxed/a.go":        "package inboxed",
			"tests/crash/crash_test.go": "package crash",
			"examples/orders/main.go":   "package main",
		},
		want: []string{"./inbox/inboxed: stands in no layer", "./internal/odd: stands in no layer"},
	},
	{
		rule: "every package explains itself",
		files: map[string]string{
			"inbox/doc.go":        "// Package inbox is where a message is.\npackage inbox",
			"outbox/outbox.go":    "// Package outbox is in the wrong file.\npackage outbox",
			"retry/doc.go":        "package retry",
			"codec/doc.go":        "// Package coder is another one.\npackage codec",
			"dlq/doc.go":          "//go:build linux\n\npackage dlq",
			"cmd/headrace/doc.go": "// Command headrace shows and mends.\npackage main",
			"tests/a/a_test.go":   "package a_test",
		},
		want: []string{
			"./codec: has a doc.go without a comment that begins with Package codec",
			"./dlq: has a doc.go without a comment",
			"./outbox: has no doc.go",
			"./retry: has a doc.go without a comment",
			"./tests/a: has no doc.go",
		},
	},
}
