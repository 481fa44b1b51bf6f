package postgres

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// escape is the prefix of text in base64 that PostgreSQL rejects.
const escape = "base64:"

// text is the form of s in the tables: s itself, or its base64 if PostgreSQL rejects it
// as text (invalid UTF-8, U+0000) or it looks like such base64.
func text(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.HasPrefix(s, escape) {
		return s
	}
	return escape + base64.StdEncoding.EncodeToString([]byte(s))
}

// untext undoes text. Text of other writers stays unchanged unless text could have
// written it, so that two ids never become one.
func untext(s string) string {
	encoded, ok := strings.CutPrefix(s, escape)
	if !ok {
		return s
	}
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || text(string(b)) != s {
		return s
	}
	return string(b)
}
