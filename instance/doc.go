// Package instance defines the stored data about processes that run a consumer: which of
// them run, which ended unexpectedly, which messages ran then, and which consumers a
// person has paused.
//
// # Nouns
//
// An [Instance] is one run of a consumer in one process. It beats while it runs. An
// instance that has not ended, but has missed enough beats, is dead. A [Mark] names the
// messages that a worker is about to run. A [Suspect] is a message that was marked when
// its process ended. A [Pause] says that a consumer shall take no messages.
// A [Request] asks the processes of a consumer to do something.
//
// # Rules
//
// All times are by the database's clock. Marks are written only for a while after an
// instance ended unexpectedly: package internal/crashguard decides when. A death counts
// once, against the messages that were marked.
//
// # Caveats
//
// A process that is frozen for longer than Missed looks dead, and beats again when it
// continues. On SQLite a handler that has the write lock for that long makes all
// processes look dead, including its own, until it returns.
package instance
