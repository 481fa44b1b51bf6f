package main

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/encode"
)

// visible makes text from outside safe for a terminal: control characters (ESC, newlines,
// the C1 ones), characters that change the text direction, and bytes that are not UTF-8
// become Go escapes.
func visible(s string) string {
	if isVisible(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x`)
			b.WriteString(strconv.FormatUint(uint64(s[i])|0x100, 16)[1:])
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += n
	}
	return b.String()
}

func isVisible(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) }) < 0
}

// visibleJSON escapes characters that encoding/json does not and a terminal may act on:
// DEL, the C1 controls, marks of direction. They occur only inside strings.
func visibleJSON(text []byte) []byte {
	var b []byte
	for _, r := range string(text) {
		switch {
		case r < 0x7f || unicode.IsGraphic(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			r -= 0x10000
			b = appendUnit(appendUnit(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
		default:
			b = appendUnit(b, r)
		}
	}
	return b
}

// appendUnit appends a UTF-16 code unit as a JSON escape.
func appendUnit(b []byte, unit rune) []byte {
	return append(append(b, `\u`...), strconv.FormatInt(int64(unit)|0x10000, 16)[1:]...)
}

// short cuts a cell to at most width characters.
func short(s string, width int) string { return encode.Short(s, width) }
