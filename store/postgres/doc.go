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
// Where the network swallows everything, lib/pq waits as long as the operating system
// does: it does not heed a context while it waits for the answer to BEGIN, COMMIT and
// ROLLBACK, and for any other statement asks the server to cancel it, over a connection
// that hangs as well. What holds then depends on who made the connections.
//
// A store from [Open], which is the choice for lib/pq: whatever is waited for ends with
// its context, a statement at most three seconds after it, and a ROLLBACK after five;
// the connection is cut. The program's own statements through [Store.DB] do so too.
// Those whose context never ends end with [Options].TCPUserTimeout.
//
// A store from [New] with pgx: the same; pgx itself heeds contexts.
//
// A store from [New] with lib/pq cannot reach the connections. Begin, Commit and
// Rollback return in time, and leave a goroutine and its connection behind until the
// operating system gives up; other statements hang until then, whatever their context
// says, and a consumer that stops meanwhile leaves them behind and says so. Give that
// driver a dialer (pq.Connector.Dialer) that sets TCP_USER_TIMEOUT or net.Dialer's
// KeepAliveConfig to some seconds, and connect_timeout in the DSN.
//
// pgbouncer in transaction mode works with Options.StatementCache -1, and for
// lib/pq with binary_parameters=yes in the DSN: otherwise a query with arguments
// takes two round trips, which pgbouncer may send to two servers. pgx needs
// default_query_exec_mode=exec in its DSN there.
//
// The roles: a migration needs CREATE on the schema; work needs SELECT, INSERT,
// UPDATE and DELETE on its tables and USAGE on the schema and its sequences.
package postgres
