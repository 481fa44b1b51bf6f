// Package read reads what a page shows, from several tables.
//
// # Nouns
//
// A [Reader] reads a [Group], a [Letter], a [Redrive], [Steps], or the [Overview].
//
// # Rules
//
// It changes nothing. Each statement has a bound: it reads counters, single rows, the newest of a
// list, or windows of letters. What people decide on has a Seen: a hash of what the page shows of
// it, which their form carries back.
package read
