// Package group runs the handlers of one registration: it gathers messages into
// groups, gives each group one transaction, and sees to it that every message ends
// with one outcome.
//
// # Nouns
//
// A [Task] is a delivery on its way. The [Queue] holds tasks in lanes, one for each
// order key, and hands out groups in which no lane is worked on twice at a time.
// The [Inflight] set keeps two deliveries of one message apart without the
// database. The [Engine] claims, runs, and commits a group, and writes the verdicts
// on those that failed; [Line] does the same for the backlog. The [Gate] closes
// while the database is not to be had.
//
// # Rules
//
// While one group is being committed, arriving tasks gather in the queue, and the
// next transaction takes them all. Nothing waits for company at low load.
//
// Handlers of a group run sorted by order key, so that two groups lock the user's
// rows in one order.
//
// A failure belongs to its culprit: the group is run again without it and without
// the later tasks of its order key. An error of our own statements belongs to
// nobody: the group is held and run again when the database answers.
//
// After a COMMIT without an answer the group is claimed again; a row that is there
// says that it had committed.
//
// # Caveats
//
// A handler that ignores its context cannot be stopped, only abandoned: its
// connection is cut, its Tx refuses further use, and its goroutine is left behind
// and counted.
package group
