// Package resolve decides on steps whose outcome only a person can find out. It is what
// the command "headrace steps" does.
//
// # Nouns
//
// A [Resolution] is what a person says of a step: that it was done, or that nothing was
// done and it may be called again. [Admin.Send] sends a signal for which a message waits.
//
// # Rules
//
// A resolution is one commit: the step, the audit rows, and the message, which runs again.
// Of two people who decide at once one does, and the other is told.
//
// Suspect mode (ledger.SuspectMode) begins and ends with an audit row of no letter.
//
// A message with several steps that need a person runs again with the last resolution.
//
// # Caveats
//
// A person who says that nothing was done must be sure: the call is made again.
package resolve
