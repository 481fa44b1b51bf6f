// Package nemesis breaks things.
//
// # Nouns
//
//   - A [World] is what can be broken: children, the database's server, the network
//     before it, the source.
//   - A [Child] is a process that the parent started and may kill. A supervised one is
//     started again whenever it ends.
//   - A [Fault] breaks something in a World, and says how often that really took effect:
//     a process is gone by SIGKILL, a server went down, a connection was ended.
//
// A fault leaves the world whole: what it stopped it starts again. A new one is a
// function and a line in faults.go.
package nemesis
