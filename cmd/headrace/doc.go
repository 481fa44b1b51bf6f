// Command headrace looks after a database that headrace consumers work on: its
// schema, its invariants, its dead letters and its outbox.
//
//	headrace migrate up|status|print
//	headrace check
//	headrace inbox show KEY
//	headrace dlq ls|groups|show|redrive|discard
//	headrace outbox status|parked|unpark
//	headrace version
//
// # Nouns
//
// A dead letter is a message that was given up, with all that is known about it. To
// redrive it is to hand it to its handler again; to discard it is to give it up for
// good. A parked row is an event that the broker refuses.
//
// # Rules
//
// The database is named by HEADRACE_DSN, by --dsn-file or by --dsn, as
// postgres://user@host:5432/database, as key=value pairs (host=… user=… dbname=…), or as
// sqlite:FILE. A password is never shown.
//
// Payloads and headers are printed only by `dlq show --payload`. Whatever came from
// outside is printed with its control characters escaped, in tables and in JSON.
//
// What changes messages asks first; a script says --yes. Nothing is chosen by
// default: ids, a filter, or --all.
//
// Exit status: 0 done, 1 failed (or a check that found something, or letters, rows or a
// migration that are not there), 2 wrong usage and nothing was done, 3 done in part.
//
// # Caveats
//
// Durations in --since and --until are counted back from this machine's clock, the
// times that they are compared with are the database's.
package main
