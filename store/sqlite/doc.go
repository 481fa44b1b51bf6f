// Package sqlite keeps a store in a SQLite file, with modernc.org/sqlite: no
// server, no cgo.
//
// # Nouns
//
// A [Store] is one file, opened by [Open]. The tables of the handlers live in the
// same file as those of headrace, because only then do an effect and the record
// of its message share a commit: effects once inside one database.
//
// # Rules
//
// SQLite has one writer for each file. Transactions of this process take turns, in
// order of arrival, before they ask SQLite for the write lock ([Store.Begin]); the
// processes that share a file are given gaps, so that one that writes all the
// time does not starve the others. The store reads on connections of its own, and
// never waits for a writer.
//
// Every connection runs in WAL mode with synchronous=FULL: what was committed
// survives a loss of power. There is no option to weaken that, and a connection on
// which a setting is not in force is refused.
//
// In a transaction that was begun with Begin, here or on [Store.DB], only Commit
// can make something durable. After SQLite has rolled it back by itself (a full
// disk, INSERT OR ROLLBACK, a writing statement whose context ended), or after a
// COMMIT or ROLLBACK in the SQL, every further statement fails. SQLite alone would
// commit each of them at once.
//
// # Caveats
//
// A handler that begins a second transaction on the same file while its own is open
// waits for itself. Use the handler's transaction.
//
// A statement outside of a transaction on Store.DB does not take a turn: it asks
// SQLite for the lock, for BusyTimeout at most.
//
// The file must be on a local disk, and is three files while it is in use; copy it
// with VACUUM INTO or the backup API, never with cp. A process that has it open must
// not open and close it by other means: closing a file drops the locks that the
// process has on it. An in-memory database is refused: it would be one database for
// each connection.
//
// SQLite's clock counts milliseconds: a delay is exact to one.
package sqlite
