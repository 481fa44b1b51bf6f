// Package history is the torture's own log: what was sent, what the source was told,
// what came out, and which fault was on.
//
// An [Entry] is one line of JSON in a file that belongs to the parent process, outside
// of everything under test. Sends are on disk before the message goes anywhere
// ([Log.Sync]); what others did is noted as it is seen ([Log.Note]). The checker reads
// the file, not the memory of the program.
package history
