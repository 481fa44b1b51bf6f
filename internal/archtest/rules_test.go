package archtest

// Rules are the rules of this module. A new one needs a case in this package's tests that breaks it.
var Rules = []Rule{
	{
		Name:         "the domain stands at the bottom",
		Package:      Domain,
		MayNotImport: union(Engines, Runtime, Drivers, Adapters, Wiring),
		Reason:       "everything imports the domain, so what it imports can no longer be replaced",
	},
	{
		Name:         "the domain knows no database driver",
		Package:      Domain,
		MayNotImport: DatabaseDrivers,
		Reason:       "a user of one database must not link the driver of another; a driver is chosen in the wiring",
	},
	{
		Name:         "leaves know nothing of ours",
		Package:      Leaves,
		MayNotImport: Set{Ours, ThirdParty},
		Reason:       "the root and all of the domain are built on them, so they stand on the standard library alone",
	},
	{
		Name:         "engines know the domain only",
		Package:      Engines,
		MayNotImport: union(Runtime, Drivers, DatabaseDrivers, Adapters, Wiring),
		Reason:       "an engine works with any database and any broker, through the interfaces of the domain",
	},
	{
		Name:         "the runtime knows no driver",
		Package:      Runtime,
		MayNotImport: union(Drivers, DatabaseDrivers, Adapters, Wiring),
		Reason:       "a third database or broker must not touch the consumer",
	},
	{
		Name:         "drivers know the domain only",
		Package:      Drivers,
		MayNotImport: union(Engines, Runtime, Adapters, Wiring),
		Reason:       "a driver holds a dialect, not decisions; what decides would have to be written once per database",
	},
	{
		Name:         "postgres is not sqlite",
		Package:      Set{"./store/postgres"},
		MayNotImport: union(Set{"./store/sqlite"}, SQLiteDrivers),
		Reason:       "drivers never import each other: a change for one database must not reach users of the other",
	},
	{
		Name:         "sqlite is not postgres",
		Package:      Set{"./store/sqlite"},
		MayNotImport: union(Set{"./store/postgres"}, PostgresDrivers),
		Reason:       "drivers never import each other: a change for one database must not reach users of the other",
	},
	{
		Name:         "what drivers share knows none of them",
		Package:      Set{"./internal/migrate", "./internal/sqladmin", "./internal/sqlfile", "./internal/sqlgroups", "./internal/sqljobs", "./internal/sqlops", "./internal/sqlrequests", "./internal/sqlrun", "./internal/sqlsearch", "./internal/sqlstore"},
		MayNotImport: union(Set{"./store/postgres", "./store/sqlite"}, DatabaseDrivers),
		Reason:       "the drivers import it and hand it their statements",
	},
	{
		Name:         "adapters know no driver",
		Package:      Adapters,
		Except:       Suites,
		MayNotImport: union(Drivers, DatabaseDrivers, Wiring),
		But:          Set{"./internal/sqlfile"}, // how statements are loaded is no dialect
		Reason:       "a broker and a database meet in the wiring only",
	},
	{
		Name:         "pages know no driver",
		Package:      Pages,
		MayNotImport: union(Runtime, Drivers, DatabaseDrivers, Adapters, Wiring),
		Reason:       "they show any database, and a process that they ask does the work",
	},
	{
		Name:         "tests stay out of binaries",
		Package:      Set{Ours},
		Except:       union(Suites, Set{"./tests/..."}),
		MayNotImport: TestLibraries,
		Reason:       "a production binary must not carry test libraries and their flags",
	},
	{
		Name:         "the domain is not observed",
		Package:      Domain,
		MayNotImport: union(Observers, Observability),
		But:          Set{"go.opentelemetry.io/otel/propagation"}, // what writes a span as text
		Reason:       "a trace context is text in a row; who writes handlers and drivers need not link OpenTelemetry for it",
	},
	{
		Name:         "what observes knows the domain only",
		Package:      Observers,
		MayNotImport: union(Engines, Runtime, Drivers, DatabaseDrivers, Adapters, Wiring),
		Reason:       "the engines call it; it decides nothing and asks nothing by itself",
	},
	{
		Name:         "only wiring chooses an SDK",
		Package:      Set{Ours},
		Except:       Wiring,
		MayNotImport: Pipelines,
		Reason:       "the program has its own SDK and exporters, or none; a library that brings some would record twice, and fix their versions",
	},
	{
		Name:         "only wiring talks to a terminal",
		Package:      Set{Ours},
		Except:       Wiring,
		MayNotImport: Terminal,
		Reason:       "a library must not bring a command line to programs that have one",
	},
	{
		Name:         "pgtest knows nothing of ours",
		Package:      Set{"./internal/pgtest"},
		MayNotImport: Set{Ours},
		Reason:       "every package's tests may use it, so it must not import any of them",
	},
	{
		Name:         "Watermill's middlewares and components are not used",
		Package:      Set{Ours},
		Except:       Wiring,
		MayNotImport: WatermillTraps,
		Reason:       "docs/traps.md: they lose, hold up or dead-letter messages; the engines and the relay do their work",
	},
	{
		Name:         "watermill-sql serves publishers only",
		Package:      Set{Ours},
		Except:       union(Wiring, Suites, Set{"./store/postgres"}),
		MayNotImport: Set{"github.com/ThreeDotsLabs/watermill-sql/..."},
		Reason:       "docs/traps.md: its Subscriber commits effects that were nacked, and waits for all transactions of the cluster; only its SchemaAdapter is ours",
	},
	{
		Name:    "the domain starts no goroutine",
		Package: Domain,
		Except: Set{
			"./store/txn",   // a commit that ignores its context is waited for from outside
			"./dlq/redrive", // a redrive takes the next letters while it commits; the call waits for both
		},
		File:   goroutines,
		Reason: "what runs, and for how long, is decided by the engines and the runtime, which also wait for it",
	},
	{
		Name:    "SQL stands in .sql files",
		Package: Set{Ours},
		Except:  union(Wiring, Suites, Tools),
		File:    sqlText,
		Reason:  "statements live in queries/*.sql beside their driver, where they can be read and compared",
	},
	{
		Name:    "SQL is not assembled",
		Package: Set{Ours},
		File:    assembledSQL,
		Reason:  "a value in a statement's text is an injection and a new plan each time; values are arguments",
	},
	{
		Name:    "files are short",
		Package: Set{Ours},
		Tests:   true,
		File:    longFile,
		Reason:  "one file is one idea; split it by idea",
	},
	{
		Name:    "functions are short",
		Package: Set{Ours},
		Tests:   true,
		File:    longFunctions,
		Reason:  "a function is read on one screen; name its parts",
	},
	{
		Name:    "types are small",
		Package: Set{Ours},
		Except:  union(Wiring, Suites),
		Whole:   largeTypes,
		Reason:  "a limit on files alone hides a type that does everything in many small files; split it by what it does",
	},
	{
		Name:    "packages are small",
		Package: Set{Ours},
		Except:  union(Set{"./store/postgres", "./store/sqlite"}, Adapters, Wiring, Suites),
		Whole:   largePackage,
		Reason:  "one package is one idea that a reader can hold in the head; split it by idea",
	},
	{
		Name:    "the judge is pure",
		Package: Set{"./internal/judge"},
		File:    impure,
		Reason:  "what a failure means is decided from facts alone, so that a table can test all of it",
	},
	{
		Name:         "the judge knows no store",
		Package:      Set{"./internal/judge"},
		MayNotImport: Set{Ours, ThirdParty},
		But:          Set{"./store/txn"}, // the classes of errors
		Reason:       "the judge decides on the facts that it is given, and reads nothing itself",
	},
	{
		Name:    "interfaces are small",
		Package: Set{Ours},
		Tests:   true,
		File:    wideInterfaces,
		Reason:  "each method is one that every driver and every fake must have; split it by concern",
	},
	{
		Name:    "exported names are explained",
		Package: Set{Ours},
		Except:  union(Wiring, Suites),
		File:    unexplained,
		Reason:  "go doc of a package reads as a page: units, the meaning of zero, what blocks, errors",
	},
	{
		Name:    "every package has a place",
		Package: Set{Ours},
		Whole:   unplaced,
		Reason:  "no rule checks a package that stands in no layer; add it to one in internal/archtest/layers_test.go",
	},
	{
		Name:    "every package explains itself",
		Package: Set{Ours},
		Whole:   undocumented,
		Reason:  "a package's doc.go is where its nouns, rules and caveats are looked for",
	},
}
