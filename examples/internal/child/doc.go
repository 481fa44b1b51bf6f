// Package child starts the processes of an example that are killed, and lets them end with
// their parent.
//
// # Nouns
//
// A [Process] is the example's own program in another role. What must outlive it, the other
// side with its log, is served by the parent ([Host]). [Work] is what a child has to do.
//
// # Rules
//
// A child ends when its parent does, however that ends: its input is closed then.
//
// # Caveats
//
// What a child prints is in DIR/ROLE.log.
package child
