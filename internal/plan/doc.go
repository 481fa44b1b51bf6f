// Package plan is what a leased handler declares of its steps and signals, and what that says
// of the rows that are recorded: package internal/steps runs them.
//
// # Nouns
//
// A [Plan] is what one handler declares.
//
// # Rules
//
// Names are the only identities. A row that may have done something, and whose name no
// step has or had, stops its message.
package plan
