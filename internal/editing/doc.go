// Package editing does what a person asks about the content of dead letters: edit one, send one
// under a new key, and take discards back.
//
// # Rules
//
// The bytes that came never change: an edit is another row, and a redrive sends the newest one. The
// handler's own key function says whether an edit is still the same message. Another key is refused,
// since the message of that key may have been applied. Inbox and backlog keep the fingerprint of the
// message that came: a redelivery of it is a duplicate, and the sender's corrected copy a conflict.
//
// A letter under a stand-in key has no key yet: it is sent under the key of the edited bytes, as a
// redrive claims it.
//
// A new key is the only way to apply a message twice. It is for one letter: a conflict, or one in
// which its handler finds no key.
package editing
