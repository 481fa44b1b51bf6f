// Package inbox records which messages were handled, and defines the keys that identify
// messages.
//
// # Nouns
//
// A key identifies the message, not one attempt to deliver it: two deliveries with the
// same key are the same message. A [KeyFunc] reads it from a delivery; [First], [Join],
// [Header], [JSON] and the others make one. A scope is a consumer and a handler; a key is
// unique within its scope.
//
// A fingerprint is a hash of what a message says. The same key with another
// fingerprint is a conflict. An [Entry] is the row of a message, and its [State] says where
// the message is. An [Attempt] is a run of the handler that failed.
//
// # Rules
//
// A claim inserts the row in the transaction of the effects, so that both are committed
// or neither is: effects are applied once inside one database.
//
// A key is compared byte by byte: case, accents and white space count. It has 1 to
// [MaxKeyBytes] bytes of valid UTF-8 without NUL, is not white space only, and does not
// begin with "stand-in:". A message without such a key becomes a dead letter under a
// stand-in key: its position on the broker, or else a hash of it. That row is dead or
// discarded, never done: a redrive asks the handler for the key again, and the row of that
// key decides.
//
// [First] skips absent keys ([ErrAbsent]) and stops at a malformed one ([ErrMalformed]):
// a broken order number must not lead to some other key. Errors name headers and paths,
// and never show a payload or a value.
//
// The record of a message is kept for a window, and pruned when the message cannot come
// back any more: [Retention]. The record of a message that waits, is dead, or has an open
// letter is kept.
//
// # Caveats
//
// A message that comes back after the window is applied again. If the retention of the
// source is unknown, nothing is pruned. A replay from an older archive needs effects that
// may be repeated, or [Newer], which also protects against messages out of order.
//
// Keys and fingerprints are stored, so what the functions here return for a given
// delivery never changes from version to version.
package inbox
