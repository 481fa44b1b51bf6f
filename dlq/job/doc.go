// Package job defines the redrive of many dead letters as a job that the consumer's own processes
// do: what it consists of, and when it sends letters, waits, or pauses.
//
// # Nouns
//
// A [Redrive] is first a plan: a list of letters by id, which never changes. Applied, it is a job.
// An [Entry] is a letter of the list. An [Outcome] is what became of it, as the tables of the
// messages say. Letters are sent in stages: one letter, ten, a hundred, and the rest.
//
// # Rules
//
// A letter's entry changes in the commit that sends its message, so the list is true after a crash.
// No worker reports to a job: a job reads outcomes. [Decide] is the only place that says what a job
// does next; it has no state of its own.
//
// A stage ends when each of its letters has an outcome. In all stages but the last, one letter that
// fails again pauses the job. A job that sends nothing says why.
//
// # Caveats
//
// A redriven message goes behind those that wait already.
package job
