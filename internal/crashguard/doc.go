// Package crashguard finds the messages that end the process which handles them. Such a
// message cannot count its own attempts, and in a batch it is unknown which message it
// was.
//
// # Nouns
//
// A [Guard] is the instance of a consumer in this process: it beats, watches the other
// instances, and says how messages may run. A mark names the messages that a worker is
// about to run. A suspect is a message that was marked when its process died. A [Process]
// runs a suspect as its only work.
//
// # Rules
//
// While no instance has ended unexpectedly, no marks are written. After an unexpected
// end, every process of the consumer marks its batches for a while: before a batch runs,
// one row with the hashes of its messages is committed. That costs a small part of the
// batch's cost.
//
// When a marking process dies, the messages in its marks are suspects. A suspect runs as
// the only work of its process, over all consumers, and with its own mark. If it runs
// longer than ten seconds, other work continues concurrently. When a suspect's handler
// returns, it is no longer a suspect.
//
// A death counts against the message that was the only work. After three such deaths, or
// ten with concurrent work, the message does not run again. If a process is killed while
// it does not mark, that counts against no message.
//
// While it is unknown whether an instance lives, only the messages in its marks wait.
//
// Marking lasts at least as long as it takes to notice missing beats, and twice as long
// as the dead process had lived, up to a bound: a broker may deliver a message again only
// after a while.
//
// A process runs one set of handlers for a consumer: a second consumer of the name, on the
// same store and with other handlers, does not begin.
//
// Leased work is never marked: a lost lease is its record. No leased work begins while a
// suspect runs.
//
// # Caveats
//
// A message that comes again later than the bound after its process died is not found at
// once: its next death starts the search again. If a process is killed from outside while
// one suspect runs, three times in a row, that counts against the message.
package crashguard
