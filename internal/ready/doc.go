// Package ready makes rows of the backlog ready: rows that have become due, and rows that
// would otherwise stay forever.
//
// # Nouns
//
// [Rows] are the rows of a consumer. Poll finds shards with ready rows for package drain;
// Tidy looks every half minute for rows that Poll does not find.
//
// # Rules
//
// Nothing is written unless a read has found rows, except for the sweep of Tidy.
//
// # Caveats
//
// After a failure, the next call does the work.
package ready
