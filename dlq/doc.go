// Package dlq stores messages that were given up, and shows a person why. The person then
// sends them again or discards them.
//
// # Nouns
//
// A [Letter] is a complete message that was given up: its bytes as they came, the error,
// and the number of attempts. A [Class] says why it was given up. A [Group] collects
// letters by the fingerprint of their failure ([Failure]). A person decides on letters
// with package dlq/redrive: redrive puts the message into the backlog of the handler that
// gave it up, discard ends it. Each decision leaves an [Audit] row.
//
// # Rules
//
// The inbox row says where the message is, the letter holds its body. An open letter that
// is no conflict belongs to a dead inbox row. Redrive and discard move both in one
// commit, and only from the state that they expect. So each letter is decided on once,
// also if two people decide at the same time.
//
// A redriven message passes through the inbox like any other: if it was applied
// meanwhile, it is not applied again. It starts with a new budget of attempts; the
// earlier attempts stay recorded, and the numbering continues. A message that fails again
// becomes a new letter, whose PreviousID and Redrives say where it came from.
//
// A conflict (a message with the key of another message, but other contents) can be
// redriven only under a new key. The message that had the key first is never touched.
//
// In strict order, a redriven message goes behind those of its order key that wait
// already. A dead message blocks no other message.
//
// # Caveats
//
// The operator chooses how often to redrive a message; no message is redriven
// automatically. A redrive puts messages of one order key back in the order in which they
// died, and behind messages handled since.
//
// Payloads and error texts come from outside: escape them where you show them.
package dlq
