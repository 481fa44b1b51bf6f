// Package failurelog logs the failures of handlers, and messages that no handler can take, so
// that a person can act on a line: the error's text, the handler, the message's key, what
// follows, the dead letter and the trace.
//
// # Rules
//
// Payloads and header values are never logged. The text of an error is the one that is
// stored: credentials are masked, and Config.Redact has rewritten it.
//
// The first failure of a handler for a cause is logged at once. Those that follow within
// ten seconds are counted, and the next line has their number. The cause is the error's
// fingerprint.
//
// # Caveats
//
// The number of the last ones is lost if no other failure of that cause follows.
package failurelog
