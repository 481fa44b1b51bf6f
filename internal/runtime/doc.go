// Package runtime runs a consumer: it connects the engines that a message passes through.
//
// # Nouns
//
// A [Runtime] is a consumer with its [Handler]s. A [Run] is its only run, from the start
// to the end of everything that it began. An [Interceptor] lets the test kit replace the
// runs of a consumer's handlers.
//
// # Rules
//
// A delivery is turned into a task, dispatched in order of its order key, processed in a
// batch, and settled: see internal/dispatch and internal/batch. The backlog is worked off
// concurrently.
//
// After a stop, nothing new begins; deliveries that were not begun are given back; work
// under way finishes; and only then do the subscriptions end. Each step has a time limit.
// Handlers and statements that do not end are abandoned, and the error says so.
//
// # Caveats
//
// Package internal/router runs a consumer inside of a Watermill Router: there the Router
// subscribes.
package runtime
