// Package inspect puts together what a person wants to know, from several tables: for the command
// and the pages.
//
// # Nouns
//
// A [Build] is a version of the user's program, and what it has to do with a group of letters. A
// [Check] is one thing to know before a plan is applied. [Outcomes] say what became of the letters
// of a redrive.
//
// # Rules
//
// It only reads. The parts of an answer are read one after the other, not in one snapshot.
package inspect
