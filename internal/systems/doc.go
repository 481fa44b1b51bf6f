// Package systems is what a process knows of the systems that its steps call: how many
// calls it may make, and which of them are paused.
//
// # Nouns
//
// [Systems] are those of a consumer in one process. A [Visit] is one step's use of a
// system: its calls, from before the first mark to after the last answer.
//
// # Rules
//
// A visit waits before the mark of a step, never after it: a step that waits has not begun,
// and a process that is killed there leaves nothing open.
//
// A function that ignores the end of its context still calls the system. It counts until it
// returns.
//
// A pause is a row of the database. Steps read the pauses once a second, all of a process
// together, and no process reads while it has no steps under way.
//
// # Caveats
//
// The limits hold for each process: with n processes a system gets n times as many calls.
package systems
