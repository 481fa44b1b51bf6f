// Package mistake finds mistakes of registration and configuration.
//
// # Rules
//
// Two handlers of one topic on one source, or two consumers of one name on one store, would
// each get only some of the messages. The error says which two, and the ways out.
//
// A nil pointer in an interface is not nil: it is named before it is called.
//
// A build or environment that looks like another and is not would be taken for it by who reads the records.
package mistake
