// Package person looks after the dead letters of an example, as a person would with
// "headrace steps resolve" and "headrace dlq redrive".
//
// # Nouns
//
// A [Person] looks at each dead letter. One of class parked has a step whose outcome is
// unknown: the person looks at the other system's statement, which is the example's.
//
// # Rules
//
// A letter of another class is sent again: its process was killed too often.
//
// # Caveats
//
// A real person looks first why a message is a dead letter.
package person
