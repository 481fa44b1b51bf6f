package dlq

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// Limits of the text that goes into a fingerprint, in bytes: how much of a message is
// read, and how much is kept without its variable parts.
const (
	maxRead = 4 << 10
	maxText = 300
)

// fingerprint groups failures that have the same reason, so that ten thousand dead
// letters are read as three. It is a hash, 16 hexadecimal digits, of
//
//   - the type that says most about the error, and its code (SQLState, Code) if it
//     has one, which then replaces its message;
//   - for a panic, the function that panicked, without its line;
//   - the message without what varies between messages: numbers, dates, UUIDs,
//     hexadecimal and other words with digits, quoted strings, e-mail addresses.
//
// What is behind an error with a method OneReason, such as ledger.ParkedError, does not count. It
// is the same in every process and build.
func fingerprint(links []error, stack []byte) string {
	text := messageOf(links[0])
	code, coded := codeOf(links)
	if coded != nil {
		// The coded error's text may be in the server's language and contain values.
		text = strings.Replace(text, messageOf(coded), "", 1)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{typeOf(links), code, firstFrame(stack), normalise(text)}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// Parts that vary between two messages with the same reason. Each match becomes "#".
// There is only one sign, so that an id that is all digits by chance makes no other
// group.
var (
	quoted = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*(?:\"|$)|`[^`]*(?:`|$)")
	// single quotes are apostrophes too, so they count only where a word cannot go on.
	single  = regexp.MustCompile(`(^|[^\pL\pN])'[^']*'`)
	address = regexp.MustCompile(`[^\s<>(),;:#]+@[^\s<>(),;:#]+`)
	uuid    = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	long    = regexp.MustCompile(`\b(?:[0-9a-fA-F]{8,}|[\pL\pN_]{40,})\b`)
	// digits is a word that contains a digit, and the words joined to it by hyphens.
	digits = regexp.MustCompile(`(?:[\pL\pN_]+-)*[\pL_]*\pN[\pL\pN_]*(?:-[\pL\pN_]+)*`)
	// list joins neighbours, so that "10.0.0.1:80", "-1" and lists of any length agree.
	list = regexp.MustCompile(`[-+]?#(?:[-+.,:;/% ]*#)*`)
)

// normalise replaces the variable parts of a message.
func normalise(text string) string {
	cut := len(text) > maxRead
	text = strings.ToValidUTF8(text[:min(len(text), maxRead)], "")
	text = quoted.ReplaceAllString(text, "#")
	text = single.ReplaceAllString(text, "$1#")
	if end := strings.LastIndexByte(text, ' '); cut && end > 0 && !strings.HasSuffix(text, "#") {
		text = text[:end] // the position of the cut depends on the numbers before it, so half a word would vary
	}
	for _, varies := range []*regexp.Regexp{address, uuid, digits, long, list} {
		text = varies.ReplaceAllString(text, "#")
	}
	text = strings.Join(strings.Fields(text), " ")
	return text[:min(len(text), maxText)]
}

// Normal returns the text of an error without what varies: numbers, quoted words and addresses
// are #, as in its fingerprint.
func Normal(text string) string { return normalise(text) }
