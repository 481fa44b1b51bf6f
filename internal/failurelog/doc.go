// Package failurelog logs the failures of handlers, and messages that no handler can take, so
// that a person can act on a line: the error's text, the handler, the message's key, what
// follows, the dead letter and the trace.
//
// # Rules
//
// The line of a panic has the function, the file and the line where it began.
//
// Payloads and header values are never logged. The text of an error is the one that is
// stored: credentials are masked, and Config.Redact has rewritten it.
//
// The first failure of a handler for a cause is logged at once. Those that follow within
// ten seconds are counted. The next line has their number, or, if no other failure of that
// cause follows, a line "messages failed": within another ten seconds, and at a stop. The
// cause is the error's fingerprint.
//
// # Caveats
//
// The number of those without a line is lost if the process is killed.
package failurelog
