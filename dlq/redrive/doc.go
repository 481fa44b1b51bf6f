// Package redrive lets a person look at dead letters and decide on them: redrive or
// discard them.
//
// # Nouns
//
// An [Admin] reads letters, and executes a [Request]. A batch is the work of one
// transaction: letters, the inbox rows of their messages, backlog rows and audit rows.
//
// # Rules
//
// Each letter is decided on once, also if two people decide at the same time: a letter
// leaves the open state, and its inbox row the state dead, in one commit.
//
// While a batch commits, the next ones run on their own connections. Letters of a strict
// order key keep their order.
//
// A request handles only the letters that existed at its start, not those that it creates
// because redriven messages fail again.
package redrive
