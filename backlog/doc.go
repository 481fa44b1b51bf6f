// Package backlog is the durable work list of a consumer: messages that wait for a
// retry, and those that were redriven from the dead letters.
//
// # Nouns
//
// An [Item] is a row: a message for one handler. Ready rows stand in shards on the
// ready line; delayed ones (their time has not come) and blocked ones (an earlier
// message of their order key waits) stand off it.
//
// # Rules
//
// A message is in the backlog if and only if its inbox row is waiting; both change in
// one commit. A shard is worked off by one worker at a time, over all processes, and
// rows without an order key are spread over the shards.
//
// A look for work never walks over rows whose time has not come: they stand in
// another index.
//
// In strict mode only the oldest waiting message of an order key stands on the ready
// line or is delayed; the others are blocked behind it. Whoever adds to or takes from
// a key holds its lock ([Order]).
//
// # Caveats
//
// Without strict mode the backlog keeps no order.
package backlog
