package archtest

// Rules are the rules of this module. A new one needs a case in this package's tests that breaks it.
func Rules() []Rule {
	var all []Rule
	for _, r := range imports {
		all = append(all, r)
	}
	for _, r := range files {
		all = append(all, r)
	}
	for _, r := range packages {
		all = append(all, r)
	}
	return all
}

var imports = []ImportRule{
	{
		Name:         "words stand at the bottom",
		Package:      Words,
		MayNotImport: union(Engines, Runtime, Drivers, Adapters, Wiring),
		Reason:       "everything speaks the words, so whatever they import everybody imports, and can no longer be replaced",
	},
	{
		Name:         "words know no database driver",
		Package:      Words,
		MayNotImport: DatabaseDrivers,
		Reason:       "a user of one database must not link the driver of another; a driver is chosen in the wiring",
	},
	{
		Name:         "leaves know no other word",
		Package:      Leaves,
		MayNotImport: Set{Ours, ThirdParty},
		Reason:       "the root and every word are built on them, so they stand on the standard library alone",
	},
	{
		Name:         "engines know the words only",
		Package:      Engines,
		MayNotImport: union(Runtime, Drivers, DatabaseDrivers, Adapters, Wiring),
		Reason:       "an engine works with any database and any broker, through the interfaces of the words",
	},
	{
		Name:         "the runtime knows no driver",
		Package:      Runtime,
		MayNotImport: union(Drivers, DatabaseDrivers, Adapters, Wiring),
		Reason:       "a third database or broker must not touch the consumer",
	},
	{
		Name:         "drivers know the words only",
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
		Package:      Set{"./internal/migrate", "./internal/sqlfile"},
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
		Name:         "tests stay out of binaries",
		Package:      Set{Ours},
		Except:       union(Suites, Set{"./tests/..."}),
		MayNotImport: TestLibraries,
		Reason:       "a production binary must not carry test libraries and their flags",
	},
	{
		Name:         "words are not observed",
		Package:      Words,
		MayNotImport: union(Observers, Observability),
		Reason:       "a trace context is text in a row; who writes handlers and drivers need not link OpenTelemetry for it",
	},
	{
		Name:         "what observes knows the words only",
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
		Reason:       "docs/traps.md: they lose, hold up or dead-letter messages; retry, dlq, inbox and the relay stand in their place",
	},
	{
		Name:         "watermill-sql serves publishers only",
		Package:      Set{Ours},
		Except:       union(Wiring, Suites, Set{"./store/postgres"}),
		MayNotImport: Set{"github.com/ThreeDotsLabs/watermill-sql/..."},
		Reason:       "docs/traps.md: its Subscriber commits effects that were nacked, and waits for everybody's transactions; only its SchemaAdapter is ours",
	},
}

var files = []FileRule{
	{
		Name:    "words start no goroutine",
		Package: Words,
		Except: Set{
			"./store/txn", // a commit that ignores its context is waited for from outside
			"./dlq",       // a redrive takes the next letters while it commits; the call waits for both
		},
		Look:   goroutines,
		Reason: "what runs, and for how long, is decided by the engines and the runtime, which also wait for it",
	},
	{
		Name:    "SQL stands in .sql files",
		Package: Set{Ours},
		Except:  union(Wiring, Suites, Tools),
		Look:    sqlText,
		Reason:  "statements live in queries/*.sql beside their driver, where they can be read and compared; words hold none",
	},
	{
		Name:    "SQL is not assembled",
		Package: Set{Ours},
		Look:    assembledSQL,
		Reason:  "a value in a statement's text is an injection and a new plan each time; values are arguments",
	},
	{
		Name:    "files are short",
		Package: Set{Ours},
		Tests:   true,
		Look:    longFile,
		Reason:  "one file is one idea; split it by idea",
	},
	{
		Name:    "functions are short",
		Package: Set{Ours},
		Tests:   true,
		Look:    longFunctions,
		Reason:  "a function is read on one screen; name its parts",
	},
	{
		Name:    "interfaces are small",
		Package: Set{Ours},
		Tests:   true,
		Look:    wideInterfaces,
		Reason:  "each method is one that every driver and every fake must have; split it by concern",
	},
	{
		Name:    "exported names are explained",
		Package: Set{Ours},
		Except:  union(Wiring, Suites),
		Look:    unexplained,
		Reason:  "go doc of a package reads as a page: units, the meaning of zero, what blocks, errors",
	},
}

var packages = []PackageRule{
	{
		Name:   "every package has a place",
		Look:   unplaced,
		Reason: "no rule checks a package that stands in no layer; add it to one in internal/archtest/layers.go",
	},
	{
		Name:   "every package explains itself",
		Look:   undocumented,
		Reason: "a package's doc.go is where its nouns, rules and caveats are looked for",
	},
}
