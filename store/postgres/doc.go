// Package postgres stores headrace's rows in PostgreSQL 13 or later (14 for pruning), in
// the same database as the handlers' effects.
//
// # Nouns
//
// A [Store] is one schema of one database. [Open] makes one with its own connections
// (lib/pq); [OpenPool] makes one on a pool of pgx that is yours, and [PgxTx] gives its
// handlers a pgx.Tx; [New] makes one on a *sql.DB of yours, of lib/pq or of pgx/v5/stdlib.
//
// # Rules
//
// Opening changes the schema only if [Options].Migrate is set. If tables are missing,
// too old, or changed by a newer build in a way that this one cannot read, Open and New
// return an error that matches store.ErrSchema.
//
// Every transaction is READ COMMITTED, whatever the database's default: a worker that
// takes a shard over must see the commits of the one before it.
//
// Delays and times use the database's clock. Errors contain no payload and no password.
//
// # Caveats
//
// If the network drops all packets, lib/pq waits as long as the operating system does: it
// ignores the context while it waits for the answer to BEGIN, COMMIT and ROLLBACK. For
// any other statement it asks the server to cancel it, over a connection that hangs as
// well. What the store can do depends on who made the connections.
//
// A store from [Open], the choice for lib/pq: every wait ends with its context, a
// statement at most three seconds after it, and a ROLLBACK after five; the store cuts the
// connection. The same holds for the program's own statements through [Store.DB].
// Statements whose context never ends end with [Options].TCPUserTimeout.
//
// A store from [OpenPool], or from [New] with pgx: the same; pgx itself observes contexts.
//
// A store from [New] with lib/pq cannot reach the connections. Begin, Commit and Rollback
// return in time, and leave a goroutine and its connection behind until the operating
// system gives up. Other statements hang until then, whatever their context; a consumer
// that stops meanwhile abandons them and says so. Give that driver a dialer
// (pq.Connector.Dialer) that sets TCP_USER_TIMEOUT or net.Dialer's KeepAliveConfig to
// some seconds, and set connect_timeout in the DSN.
//
// pgbouncer in transaction mode works with Options.StatementCache -1, and for
// lib/pq with binary_parameters=yes in the DSN: otherwise a query with arguments
// takes two round trips, which pgbouncer may send to two servers. pgx needs
// default_query_exec_mode=exec in its DSN there.
//
// A migration needs a connection of its own, and not pgbouncer in transaction mode: it
// holds a lock of the session. Its role needs CREATE on the schema; work needs SELECT, INSERT, UPDATE and
// DELETE on its tables and USAGE on the schema and its sequences.
package postgres
