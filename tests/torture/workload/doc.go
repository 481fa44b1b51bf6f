// Package workload is what the torture does while things break: messages of several
// kinds, and the child process that handles them.
//
// # Nouns
//
//   - A message is of a [Kind], which says how its handler fails, and goes to a topic,
//     which says what kind of handler it has: plain, batch, leased, or one that appends
//     to a list in strict order.
//   - The [Generator] sends them, writes down each before it does, and lies: some it
//     writes down and never sends, of some it is unknown, some go out three times.
//   - [Main] is the child: it runs the consumers, or redrives, prunes or holds SQLite's
//     lock, and kills itself at the point that it is told on its standard input.
//
// Every handler writes an effect with the sum of what it was given, and [Events] events
// that it also notes in a table of its own, in its transaction. No table of these has a
// unique index: one would hide what is looked for.
package workload
