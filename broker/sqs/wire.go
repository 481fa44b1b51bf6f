package sqs

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/encode"
)

// Names of attributes with a meaning of their own.
const (
	// UUIDAttribute contains Watermill's UUID, as in watermill-aws.
	UUIDAttribute = "_watermill_message_uuid"
	// MetadataAttribute contains the metadata without attributes of their own, as JSON.
	MetadataAttribute = "_headrace_metadata"
	// BodyAttribute is the encoding of a payload that SQS would reject: "base64", or
	// "empty".
	BodyAttribute = "_headrace_body"
	// DeadLetterSourceKey is a metadata entry, on messages of a dead-letter queue: the ARN of
	// the queue from which SQS moved the message. SQS lets no sender use the name.
	DeadLetterSourceKey = "AWS.DeadLetterQueueSourceArn"
)

const (
	bodyBase64 = "base64"
	bodyEmpty  = "empty"
	// emptyBody represents an empty payload, since SQS rejects an empty body.
	emptyBody = "-"
)

// legal reports whether SQS accepts s: the characters of XML 1.0, and at least one.
func legal(s string) bool {
	for i, r := range s {
		switch {
		case r == '\t', r == '\n', r == '\r', r >= 0x20 && r <= 0xD7FF, r >= 0xE000 && r < 0xFFFD, r >= 0x10000:
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		default:
			return false
		}
	}
	return s != ""
}

// nameMost is SQS' longest name of an attribute.
const nameMost = 256

// attributeName reports whether SQS accepts name for an attribute, and it is none of
// ours.
func attributeName(name string) bool {
	if name == "" || len(name) > nameMost || name == UUIDAttribute || name == MetadataAttribute || name == BodyAttribute {
		return false
	}
	lower := strings.ToLower(name)
	if strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon.") ||
		name[0] == '.' || name[len(name)-1] == '.' || strings.Contains(name, "..") {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool { return !alphanumeric(r) && r != '.' && r != '_' && r != '-' }) < 0
}

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// writeBody returns the body for payload, and the value of BodyAttribute; "" if it needs
// none.
func writeBody(payload []byte) (body, how string) {
	switch s := string(payload); {
	case s == "":
		return emptyBody, bodyEmpty
	case legal(s):
		return s, ""
	}
	return base64.StdEncoding.EncodeToString(payload), bodyBase64
}

var errBody = errors.New(BodyAttribute + " says base64, and the body is none")

// readBody undoes writeBody. With an unknown encoding the payload is the unchanged body.
func readBody(body, how string) ([]byte, error) {
	switch how {
	case bodyEmpty:
		return []byte{}, nil
	case bodyBase64:
		payload, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return []byte(body), errBody
		}
		return payload, nil
	}
	return []byte(body), nil
}

// nonCharacters are the two characters that JSON does not escape and SQS rejects.
var nonCharacters = strings.NewReplacer("\uFFFE", `\ufffe`, "\uFFFF", `\uffff`)

// packed returns the value of MetadataAttribute.
func packed(rest map[string]string) string {
	return nonCharacters.Replace(string(encode.Metadata(rest)))
}
