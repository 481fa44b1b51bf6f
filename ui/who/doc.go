// Package who defines the person who looks at the pages, and what that person may do.
//
// # Nouns
//
// A [Person] has a name and a [Role]. A role includes the smaller ones.
//
// # Rules
//
// A person without a role may do nothing. Whatever finds out who sends a request answers
// [ErrUnknown] where it does not know.
package who
