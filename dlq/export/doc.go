// Package export writes dead letters to a file, and brings them into another database of the same
// consumer.
//
// # Format
//
// A file is lines of JSON (NDJSON, UTF-8), each an object with the member v, [Version], and one more:
//
//	{"v":1,"export":{…}}       the first line: a [Header]
//	{"v":1,"dead_letter":{…}}  one line for each letter, the oldest first
//	{"v":1,"end":{…}}          the last line: an [End]
//
// Times are in RFC 3339, UTC. A payload is the member payload, a string, or payload_base64 if it is
// not UTF-8; a tombstone has neither. headers is an object of strings, where a value that is not
// UTF-8 is {"base64": …}; if a name is not, headers is an array of pairs. runs are the attempts,
// edits are what people changed, edited is the content of the newest edit, decisions are audit rows,
// and steps are those of leased handlers (package ledger), without their results.
//
// The End has the number of letters, and the SHA-256 of all bytes before its line. A file without
// it, or with another sum, was cut or changed. The sum is no signature: who may import may also
// write a file.
//
// A member that a reader does not know is passed over, and its meaning may not change what the others
// mean: that is another version, which is refused, as a file of a newer schema is.
//
// # Rules
//
// [Export] keeps one letter in memory, and redacts payloads and headers (package redact) unless it is
// told not to. A redacted file cannot be imported: a redrive would apply what was never sent.
//
// [Look] reads and checks the whole file, and writes nothing. [Import] reads it again. A letter is
// imported where the inbox has no row for its message: inbox row (dead), attempts, letter, newest
// edit and audit row in one commit, many letters in each. Where there is a row, the database knows the
// message, and the letter is passed over. So the same file twice, or again after a crash,
// imports nothing twice.
//
// Also passed over are letters that are not open; conflicts, since the message that had their
// key first does not come along, so that a redelivery would be applied beside them; and letters
// with a step that may have been called, since a redrive would call it again.
//
// An imported letter has a new id. Its audit row says which one it had, and in which database.
//
// # Caveats
//
// A redrive applies an imported message in this database, whatever the other one does: discard the
// letters there. What was applied here so long ago that retention has removed its row is not known
// any more, and would be applied again.
package export
