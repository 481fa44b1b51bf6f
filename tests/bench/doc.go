// Command bench measures headrace beside the same work done by hand, in one process
// against one PostgreSQL.
//
//	go run ./tests/bench              a table
//	go run ./tests/bench -json        one object: figures by name, ratios by name
//	go run ./tests/bench -only relay  one part; or one benchmark, with what it is compared with
//	go run ./tests/bench -brokers     the same handler on brokers, beside a plain Router
//	go test -bench . ./tests/bench    the same measurements as Go benchmarks
//
// # Nouns
//
// A benchmark measures one thing and gives a [Figure]: a rate, the median and the
// 99th percentile of a latency. Benchmarks belong to parts. A ratio is the rate of
// one benchmark by that of another of the same run.
//
// The [lab] is the database that a run makes for itself and drops at its end. The
// [source] is the broker: it keeps a fixed number of messages in flight, and both
// sides read from one of the same kind. A [driver] is how both talk to PostgreSQL; names
// that end in _pgx are measured with pgx, headrace's side on a pool. A [process] is a child process, which may be
// killed.
//
// # Rules
//
// Every benchmark starts on empty tables after a checkpoint, warms up, measures, and
// then proves by a query of its own that each message took effect once and left one
// event. A benchmark whose count is wrong, or whose store does not pass its Check,
// is an error and has no figure.
//
// Where messages may be acknowledged before they are applied (retries, the backlog), the
// clock stops when all are applied.
//
// The side that is compared with does its work the fast way: no statement that it
// does not need, no logging, as many connections as messages in flight.
//
// A new benchmark is a file and a line in parts.go.
//
// # Caveats
//
// Figures are of this machine, with whatever else runs on it. Only ratios of one run
// mean anything elsewhere; -rounds repeats the run and keeps the medians, of a ratio that
// of each round.
package main
