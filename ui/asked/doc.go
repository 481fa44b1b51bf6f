// Package asked is what the pages show of a request to the processes of a consumer.
//
// # Nouns
//
// A [Request] is what was asked and what became of it. Its [Form] is where a person typed it.
//
// # Rules
//
// A request that was not done leads back to its form, with what was typed: only the person who asked gets it.
package asked
