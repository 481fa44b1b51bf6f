// Package instance holds the words for processes that run a consumer: which of them
// run, which ended without a word, what one was doing when it did, and which
// consumers a person has paused.
//
// # Nouns
//
// An [Instance] is one run of a consumer in one process. It beats while it runs. One
// that neither beats nor has ended is dead once it has missed enough beats. A
// [Pause] is a person's mark that a consumer shall take no messages. [Caution] is how
// carefully an instance works while one before it may have been ended by a message,
// and [Advice] what that means for one message.
//
// # Rules
//
// Time is the database's. An instance writes down the message that it is about to
// run only in cautious mode, where it runs one at a time: so a death with a message
// written down accuses that message and no other. A recorded attempt clears it: the
// handler had returned.
//
// # Caveats
//
// A process that is stopped for longer than the time in which beats are missed looks
// dead, and beats again when it goes on. On SQLite a handler that holds the one write
// lock for that long makes everybody look dead, itself included, until it returns.
package instance
