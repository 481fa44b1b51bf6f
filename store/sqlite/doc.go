// Package sqlite implements a store in a SQLite file, with modernc.org/sqlite: no server,
// no cgo.
//
// # Nouns
//
// A [Store] is one file, opened by [Open]. The handlers' tables are in the same file as
// headrace's. Only then do an effect and the record of its message share a commit, and
// effects are applied once inside one database.
//
// # Rules
//
// SQLite has one writer for each file. Transactions of this process take turns, in order
// of arrival, before they ask SQLite for the write lock ([Store.Begin]). A process that
// writes all the time leaves gaps, so that other processes with the same file can write.
// The store reads on its own connections, and never waits for a writer.
//
// Every connection runs in WAL mode with synchronous=FULL: commits survive a loss of
// power. No option weakens that, and a connection on which a setting is not in force is
// an error.
//
// In a transaction begun with Begin, here or on [Store.DB], only Commit makes changes
// durable. If SQLite has rolled it back by itself (a full disk, INSERT OR ROLLBACK, a
// writing statement whose context ended), or the SQL contained a COMMIT or ROLLBACK,
// every further statement fails. SQLite alone would commit each of them at once.
//
// # Caveats
//
// A handler that begins a second transaction on the same file while its own is open waits
// for itself. Use the handler's transaction.
//
// A statement outside of a transaction on Store.DB does not take a turn: it asks
// SQLite for the lock, for BusyTimeout at most.
//
// The file must be on a local disk, and is three files while it is in use; copy it with
// VACUUM INTO or the backup API, never with cp. A process that has it open must not open
// and close it in another way: closing a file drops the locks that the process has on it.
// An in-memory database is rejected: each connection would have its own.
//
// SQLite's clock counts milliseconds, so delays are exact to one millisecond.
package sqlite
