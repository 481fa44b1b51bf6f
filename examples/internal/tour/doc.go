// Package tour shows examples/quickstart at work: it posts orders, waits until they are
// done, fixes what failed, and tells what happened. There is nothing in it to copy.
//
// # Nouns
//
// The shop is the program's HTTP handler, served on loopback. An invoice and a mail are rows that its message
// handlers write.
//
// # Rules
//
// What is printed comes from the tables, and from the answers to the requests. Anything
// else than what the page says is an error.
//
// # Caveats
//
// A tour that takes longer than a minute ends with an error.
package tour
