// Package search looks for dead letters without reading the whole table in one statement.
//
// # Nouns
//
// A window is some thousands of letters that follow each other in an index: all letters, the
// open ones, or those of a group, a key or a list of ids. A [Request] looks at one window after the
// other, from the newest letter down, until it has what it wants or its time is used up. Its
// [Progress] says how far it came, and at which cursor the next one goes on.
//
// # Rules
//
// Times become bounds of ids, by at most 20 looks at the primary key. Letters are in the order
// of their ids only roughly: an id may be taken early, and its letter written late. But a
// statement takes ids and times together, and ends within Disorder. So if the letter p was
// written before Since minus Disorder, every letter with a lower id was written before Since,
// and the bound is p. The same holds at the other end. The statements compare the times of
// what is left.
//
// A condition on headers, or on the payload as JSON, is decided in Go, since many payloads are
// no JSON. The statements leave out letters that do not hold the bytes of a value or a name.
//
// # Caveats
//
// A letter that is committed late, above a cursor, is not in the pages below it.
package search
