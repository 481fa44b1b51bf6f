// Package redriving runs the redrives of package job in a consumer's own processes.
//
// # Nouns
//
// An [Engine] is what a process does for the redrives of its consumer: it writes plans, applies
// them, and takes steps. A step is one transaction of one job.
//
// # Rules
//
// A step locks its job, reads outcomes, decides (job.Decide), and sends. The entry of a letter
// changes in the commit that sends its message, with the letter, the row of the inbox and the row
// of the backlog. Locks are taken in this order: job, letters, inbox.
//
// An engine remembers nothing between two steps. If a COMMIT has no answer, the next step reads
// what became of it.
package redriving
