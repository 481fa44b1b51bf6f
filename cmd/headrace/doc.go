// Command headrace manages a database of headrace consumers: its schema, its invariants,
// its dead letters and its outbox.
//
//	headrace migrate up|status|print|new-id
//	headrace check
//	headrace inbox show KEY
//	headrace dlq ls|groups|show|redrive|discard
//	headrace outbox status|parked|unpark
//	headrace version
//
// # Nouns
//
// A dead letter is a message that was given up, with everything recorded about it.
// Redrive sends it to its handler again; discard gives it up finally. A parked row is an
// event that the broker refuses.
//
// # Rules
//
// HEADRACE_DSN, --dsn-file or --dsn name the database, as
// postgres://user@host:5432/database, as key=value pairs (host=… user=… dbname=…), or as
// sqlite:FILE. A password is never shown.
//
// Payloads and headers are printed only by `dlq show --payload`. Text from outside is
// printed with its control characters escaped, in tables and in JSON.
//
// Commands that change messages ask first; a script says --yes. Nothing is chosen by
// default: give ids, a filter, or --all.
//
// Exit status: 0 done, 1 failed (or a check found violations, or letters, rows or a
// migration were not found), 2 wrong usage and nothing was done, 3 done in part, or
// status found open letters or something that has no owner.
//
// # Caveats
//
// Durations in --since and --until are counted back from this machine's clock, but
// compared with times of the database.
package main
