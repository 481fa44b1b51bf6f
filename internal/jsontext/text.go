package jsontext

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape reads the escape sequence that s starts with and returns its character and its
// length. It returns half of a surrogate pair unchanged.
func unescape(s []byte) (r rune, n int) {
	if i := strings.IndexByte("bfnrt", s[1]); i >= 0 {
		return rune("\b\f\n\r\t"[i]), 2
	}
	if s[1] != 'u' {
		return rune(s[1]), 2
	}
	r = hex4(s[2:])
	if utf16.IsSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(s[8:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
}

func hex4(s []byte) rune {
	n, _ := strconv.ParseUint(string(s[:4]), 16, 16) // valid JSON has hex digits here
	return rune(n)
}

// appendRune appends r in the form of a canonical string: escaped only where JSON
// requires it.
func appendRune(out []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(out, '\\', byte(r))
	case r < ' ':
		return fmt.Appendf(out, `\u%04x`, r)
	}
	return utf8.AppendRune(out, r)
}

// Unquote returns the text of a valid JSON string. ok is false if it is not valid
// Unicode, for which encoding/json would insert U+FFFD: different strings must not become
// the same key.
func Unquote(quoted []byte) (s string, ok bool) {
	inner := quoted[1 : len(quoted)-1]
	if !utf8.Valid(inner) {
		return "", false
	}
	var out []byte
	for {
		i := bytes.IndexByte(inner, '\\')
		if i < 0 {
			return string(append(out, inner...)), true
		}
		r, n := unescape(inner[i:])
		if utf16.IsSurrogate(r) {
			return "", false
		}
		out = utf8.AppendRune(append(out, inner[:i]...), r)
		inner = inner[i+n:]
	}
}
