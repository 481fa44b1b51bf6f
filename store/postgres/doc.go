// Package postgres keeps headrace's rows in PostgreSQL 13 or later (14 for pruning),
// in the database of the effects.
//
// # Nouns
//
// A [Store] is one schema of one database. [Open] makes one with connections of its
// own (lib/pq); [New] makes one on a *sql.DB of yours, of lib/pq or of
// pgx/v5/stdlib.
//
// # Rules
//
// Opening never changes the schema unless [Options].Migrate asks for it. A database
// whose tables are missing, older or newer is refused with an error that matches
// store.ErrSchema.
//
// Every transaction is READ COMMITTED, whatever the database's default: a worker
// that takes a shard over must see what the one before it committed.
//
// Delays and times are the database's. Errors hold no payload and no password.
//
// # Caveats
//
// lib/pq does not heed a context while it waits for the answer to COMMIT, and on a
// connection that was cut waits for as long as the operating system does. A store
// from Open cuts the connection itself. One from New does so for pgx; for lib/pq it
// cannot reach the connection: give that driver a dialer with a timeout, or use
// Open.
//
// pgbouncer in transaction mode works with Options.StatementCache -1, and for
// lib/pq with binary_parameters=yes in the DSN: otherwise a query with arguments
// takes two round trips, which pgbouncer may send to two servers. pgx needs
// default_query_exec_mode=exec in its DSN there.
//
// The roles: a migration needs CREATE on the schema; work needs SELECT, INSERT,
// UPDATE and DELETE on its tables and USAGE on the schema and its sequences.
package postgres
