// Package caution finds the messages that end the process which handles them. Such a
// message cannot count its own attempts, and in a group nobody knows which one it was.
//
// # Nouns
//
// A [Guard] is the instance of a consumer in this process: it beats, watches the other
// instances, and says how carefully messages are to be run.
//
// # Rules
//
// An instance that has neither ended nor beaten since it was first seen may have been
// ended by a message, which comes again. So a process is cautious from its start until
// every earlier instance has ended, was seen to beat, or has missed its beats; after a
// death it stays cautious for at least the time in which beats are missed, and for twice
// as long as the dead one had lived, up to a bound: a message that comes again only
// after a while is then met with caution the next time.
//
// In cautious mode messages run one at a time, and each is written down, in a commit of
// its own, before it runs, and crossed out when its outcome is committed. One that was
// written down by three instances when they died, with no recorded attempt since, is
// not run again. While it is not known whether an instance that wrote it down lives,
// the message waits, and no other does.
//
// After that a process is watchful while a message is known that an instance wrote down
// when it died: that message runs as in cautious mode, all others together.
//
// In normal mode nothing is written down and nobody is accused, however a process ends.
//
// # Caveats
//
// A message that comes again later than the bound after its process died is not found.
// A process that is killed from outside while one message runs for long, three times in
// a row, accuses that message.
package caution
