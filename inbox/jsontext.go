package inbox

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape reads the escape sequence that s starts with and returns its character
// and its length. Half of a surrogate pair comes back as itself.
func unescape(s []byte) (r rune, n int, ok bool) {
	if len(s) < 2 {
		return 0, 0, false
	}
	switch s[1] {
	case '"', '\\', '/':
		return rune(s[1]), 2, true
	case 'b':
		return '\b', 2, true
	case 'f':
		return '\f', 2, true
	case 'n':
		return '\n', 2, true
	case 'r':
		return '\r', 2, true
	case 't':
		return '\t', 2, true
	case 'u':
		r, ok = hex4(s)
		if !ok {
			return 0, 0, false
		}
		if low, ok := hex4(s[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12, true
			}
		}
		return r, 6, true
	}
	return 0, 0, false
}

// hex4 reads the \uXXXX that s starts with.
func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, b := range s[2:6] {
		switch {
		case '0' <= b && b <= '9':
			r = r<<4 | rune(b-'0')
		case 'a' <= lower(b) && lower(b) <= 'f':
			r = r<<4 | rune(lower(b)-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

const hexDigits = "0123456789abcdef"

// appendRune appends r as it stands in a canonical string: as itself, and escaped
// only where it could not stand otherwise.
func appendRune(out []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(out, '\\', byte(r))
	case r < ' ':
		return append(out, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
	}
	return utf8.AppendRune(out, r)
}

// unquote returns what a valid JSON string says. ok is false where it is no Unicode
// text, and encoding/json would put U+FFFD in: different strings must not become the
// same key.
func unquote(quoted []byte) (s string, ok bool) {
	inner := quoted[1 : len(quoted)-1]
	if !utf8.Valid(inner) {
		return "", false
	}
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	out := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); {
		if inner[i] != '\\' {
			out = append(out, inner[i])
			i++
			continue
		}
		r, n, ok := unescape(inner[i:])
		if !ok || utf16.IsSurrogate(r) {
			return "", false
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return string(out), true
}

// numberEnd returns the length of the JSON number that s starts with; 0 if none.
func numberEnd(s []byte) int {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	whole := digits(s[i:])
	if whole == 0 || whole > 1 && s[i] == '0' {
		return 0
	}
	i += whole
	if i < len(s) && s[i] == '.' {
		n := digits(s[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(s) && lower(s[i]) == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		n := digits(s[i:])
		if n == 0 {
			return 0
		}
		i += n
	}
	return i
}

func digits(s []byte) int {
	for i, b := range s {
		if b < '0' || b > '9' {
			return i
		}
	}
	return len(s)
}
