package postgres

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// escape begins what PostgreSQL does not take as text, in base64.
const escape = "base64:"

// text is s as it stands in the tables: s itself, or its base64 where it is no text to
// PostgreSQL (invalid UTF-8, U+0000) or could be taken for such base64.
func text(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.HasPrefix(s, escape) {
		return s
	}
	return escape + base64.StdEncoding.EncodeToString([]byte(s))
}

// untext is what text was given. What others wrote stays as it is unless it is exactly what
// text would have written, so that two ids never become one.
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
