// Package task holds a message and its handler while the message is processed.
//
// # Nouns
//
// A [Handler] is a registration: what to run for the messages of a topic, and how. A
// [Task] is one delivery, live or from the backlog, for one handler. Its [Outcome] is the
// result. A [Pace] holds running means of a handler: how long a message takes, and how
// many fail.
//
// # Rules
//
// A task belongs to one goroutine at a time. It has one outcome.
//
// # Caveats
//
// Each run of a handler gets its own [Input], but payload and metadata are shared with
// the task.
package task
