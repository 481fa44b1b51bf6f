// Package regress tests rules of the core that were broken once: one message stopped a
// consumer, a message was blamed for the failure of another, a message was applied twice.
//
// # Nouns
//
// A fixture is a database with one source. A way is a path by which a message comes to
// its handler's transaction: in a batch, alone, from the backlog, or under a lease.
//
// # Rules
//
// The comment of each test states the rule, and what happened without it. The tests use
// what users have: consumers, package dlq, stores, and SQL on tables of their own. They
// run on PostgreSQL with lib/pq and with pgx, and on SQLite where the rule can be broken
// there. Each ends with the check of the store's invariants.
// The short form (`make test`) leaves pgx out.
//
// With HEADRACE_TEST_DRIVER=pgx they run on a pool of pgx instead, where our statements
// travel with BEGIN and COMMIT; `make matrix` does so.
//
// A test waits for what it demands for at most a minute. An endless loop fails it then.
//
// # Caveats
//
// TestDiskIsFull mounts a small file system and makes a tablespace on it, where it runs as
// root beside the PostgreSQL server. Elsewhere triggers raise the same error.
// TestFileCannotGrow lowers this process's limit for the size of its files meanwhile.
// TestProcessAfterAKillIsNotSlow kills a process.
package regress
