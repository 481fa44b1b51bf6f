// Command headrace manages a database of headrace consumers: its schema, its invariants,
// its dead letters and its outbox.
//
//	headrace migrate up|status|print|new-id
//	headrace check
//	headrace inbox show KEY
//	headrace dlq ls|groups|show|redrive|discard
//	headrace backlog ls|groups|show
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
// Payloads, headers and results are printed only with --payload, and then redacted, or with --reveal. Text from outside is
// printed with its control characters escaped, in tables and in JSON.
//
// Commands that change messages ask first; a script says --yes. Nothing is chosen by
// default: give ids, a filter, or --all.
//
// # Exit status
//
//	0    done
//	1    failed or not found; check found a broken rule; inbox missing found missing keys
//	2    wrong usage, and nothing was done
//	3    done in part; status found open dead letters or a warning
//	4    the database does not permit it to this login
//	5    refused, and nothing was done: the answer was no, or the schema or the state does
//	     not allow it
//	6    a redrive has paused
//	130  interrupted; the last line says what goes on, and how to go on
//
// # Caveats
//
// Durations in --since and --until are counted back from this machine's clock, but
// compared with times of the database.
package main
