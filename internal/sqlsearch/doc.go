// Package sqlsearch looks at the dead letters of a SQL database in windows, for package
// dlq/search.
//
// # Rules
//
// A window is of one source: an index that has its letters in the order of their ids. Each
// statement has a branch for each source, and the database drops all but one.
//
// What a statement cannot decide on, it narrows by the bytes that a letter must hold; the rest
// is decided while the rows come in, and no payload is kept.
package sqlsearch
