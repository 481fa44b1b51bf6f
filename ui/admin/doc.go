// Package admin is what the pages show and ask for where a person needs the role admin: an edit of a letter, a
// new key for one, and the cancel of a message that waits.
//
// # Rules
//
// Each has a form on a page of its own, and asks the processes of the consumer for the same as the command. What was
// typed stays in the form when it is refused. A payload is edited only where a browser sends it back as it is.
package admin
