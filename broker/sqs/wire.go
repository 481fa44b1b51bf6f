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
	// UUIDAttribute holds Watermill's UUID, as in watermill-aws.
	UUIDAttribute = "_watermill_message_uuid"
	// MetadataAttribute holds the metadata that found no attribute of its own, as JSON.
	MetadataAttribute = "_headrace_metadata"
	// BodyAttribute says how a payload stands in the body that SQS would not take as it
	// is: "base64", or "empty".
	BodyAttribute = "_headrace_body"
)

const (
	bodyBase64 = "base64"
	bodyEmpty  = "empty"
	// emptyBody stands for an empty payload, since SQS refuses an empty body.
	emptyBody = "-"
)

// legal says that SQS takes s: the characters of XML 1.0, and at least one.
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

// attributeName says that SQS takes name as that of an attribute, and that it has no
// meaning of ours.
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

// writeBody returns the body that payload is sent as, and the value of BodyAttribute; ""
// where it needs none.
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

// readBody undoes writeBody. What it does not know is the payload as it stands.
func readBody(body, how string) ([]byte, error) {
	switch how {
	case bodyEmpty:
		return nil, nil
	case bodyBase64:
		payload, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return []byte(body), errBody
		}
		return payload, nil
	}
	return []byte(body), nil
}

// nonCharacters are the two that JSON leaves as they are and SQS refuses.
var nonCharacters = strings.NewReplacer("\uFFFE", `\ufffe`, "\uFFFF", `\uffff`)

// packed is the value of MetadataAttribute.
func packed(rest map[string]string) string {
	return nonCharacters.Replace(string(encode.Metadata(rest)))
}
