// Package inbox holds the record of which messages were handled, and the keys that
// tell messages apart.
//
// # Nouns
//
// A key stands for the intent of a message, not for one attempt to deliver it: two
// deliveries with the same key are the same message. A [KeyFunc] reads it from a
// delivery; [First], [Join], [Header], [JSON] and the others build one. A scope is a
// consumer and a handler; a key is unique within its scope.
//
// A fingerprint is a hash of what a message says. The same key with another
// fingerprint is a conflict: somebody used a key twice. See [FingerprintFunc].
//
// An [Entry] is the row of a message, and its [State] says where the message is. An
// [Attempt] is a run of the handler that failed. [Store] keeps both.
//
// [Middleware] makes the handlers of an existing Watermill Router write once.
//
// # Rules
//
// One row says where a message is: done, waiting, dead or discarded. A claim inserts
// the row as done in the transaction of the effects, so that both stand or fall
// together: effects once inside one database.
//
// A key is compared byte by byte: case, accents and white space count. It has 1 to
// [MaxKeyBytes] bytes of valid UTF-8 without NUL, and is not white space only.
// [Resolve] refuses any other; the message then becomes a dead letter, never a
// message with the key "".
//
// Something absent is not something malformed. [First] passes over what is absent
// ([ErrAbsent]) and stops at what is malformed ([ErrMalformed]): a broken order
// number must not turn into some other key. The errors name headers and paths, and
// never show a payload or a value.
//
// Messages of one entity that come out of order are told apart by a version: [Newer].
//
// The record of a message is kept for a window, and pruned when the message cannot come
// back any more: [Retention]. Age counts from the last transition; a message that waits,
// is dead, or has an open letter stays.
//
// # Caveats
//
// A message that comes back after the window is applied again: its record is gone. Where
// nobody says for how long the source can deliver again, nothing is pruned. A replay
// from an archive that is older than the window needs effects that bear it, or [Newer].
//
// Keys and fingerprints are stored, so what the functions here return for a given
// delivery never changes from version to version.
//
// Middleware holds a transaction, and on SQLite its only write lock, while the handler
// runs. A handler that ends the transaction by Tx.SQL has applied its effects; the
// error that says so (ErrSwitched) is all that can be done, and the events are lost.
//
// A key that its sender chooses can be chosen twice. The fingerprint shows that, but
// only while the row is kept.
package inbox
