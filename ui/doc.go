// Package ui shows a database of headrace in a browser: which messages fail, since when and
// why. It also redrives them.
//
// # Nouns
//
// [New] makes an http.Handler, for a server of its own or a path of yours. A [Person] has a [Role],
// and each route needs one. A page is made on the server, and works without JavaScript.
//
// # Rules
//
// A GET changes nothing. A POST carries what the person saw, and is refused with the present
// state if that has changed since. What changes messages is a request to the processes of the
// consumer, as from the command; each action shows the command that does the same.
//
// Values of messages are hidden until an operator reveals them, which the audit trail records.
// What comes from messages and errors is text: it is escaped, and never part of a script, a
// style, or an attribute of htmx.
//
// # Caveats
//
// Requests from other sites are refused by what the browser says of them, which needs https or
// a loopback address. A request to a process takes up to a second.
package ui
