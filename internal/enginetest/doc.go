// Package enginetest helps to test the packages of the engine on real databases.
//
// # Nouns
//
// A [Fixture] is a database with a table of effects. A [Store] is its store, which counts
// what is begun and committed, and fails on command. An [Engine] is a processor as a
// consumer makes one, that remembers what it was told.
//
// # Rules
//
// A fixture ends its test with the check of the invariants.
//
// # Caveats
//
// Only tests may import this package.
package enginetest
