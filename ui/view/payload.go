package view

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace/internal/jsontext"
)

const (
	// MaxPayload is how many bytes of a payload a page shows.
	MaxPayload = 64 << 10
	// maxDepth bounds the JSON that is indented: each level makes each of its lines longer.
	maxDepth = 64
	// maxHex is how many bytes are shown as hexadecimal digits.
	maxHex = 4 << 10
)

// Token is a piece of a payload.
type Token struct {
	// Kind is "jk", "js" and "jn" for names, strings, and numbers and words of JSON; otherwise "".
	Kind string
	// Text is the piece.
	Text string
}

// Payload is a payload as a page shows it.
type Payload struct {
	// Form is "JSON", "text", "bytes" or "empty".
	Form string
	// Tokens are the pieces, in order.
	Tokens []Token
	// Bytes is the size, and Cut how many of them are not shown.
	Bytes, Cut int
}

// PayloadOf shows a payload: indented if it is JSON, as text, or as hexadecimal digits.
func PayloadOf(body []byte) Payload {
	p := Payload{Bytes: len(body)}
	switch shown := body[:min(len(body), MaxPayload)]; {
	case len(body) == 0:
		p.Form = "empty"
	case len(shown) == len(body) && jsontext.Depth(body) <= maxDepth && json.Valid(body):
		var b bytes.Buffer
		_ = json.Indent(&b, body, "", "  ") // it is valid
		p.Form, p.Tokens = "JSON", tokens(b.String())
	case utf8.Valid(cutRune(shown)):
		shown = cutRune(shown)
		p.Form, p.Tokens, p.Cut = "text", []Token{{Text: string(shown)}}, len(body)-len(shown)
	default:
		shown = body[:min(len(body), maxHex)]
		p.Form, p.Tokens, p.Cut = "bytes", []Token{{Text: hex.Dump(shown)}}, len(body)-len(shown)
	}
	return p
}

// Editable reports whether a form returns body unchanged: it is UTF-8 of at most MaxPayload bytes, and
// a browser neither hides nor changes a character of it.
func Editable(body []byte) bool {
	s := string(body)
	return len(body) <= MaxPayload && utf8.Valid(body) && !strings.Contains(s, "\r") && Visible(s) == s
}

// cutRune removes a character at the end that was cut.
func cutRune(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if utf8.RuneStart(b[len(b)-n]) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// tokens divides valid JSON.
func tokens(s string) (list []Token) {
	plain := 0
	add := func(kind string, from, to int) {
		if plain < from {
			list = append(list, Token{Text: s[plain:from]})
		}
		list, plain = append(list, Token{Kind: kind, Text: s[from:to]}), to
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			end := i + 1
			for ; s[end] != '"'; end++ {
				if s[end] == '\\' {
					end++
				}
			}
			kind := "js"
			if end+1 < len(s) && s[end+1] == ':' {
				kind = "jk"
			}
			add(kind, i, end+1)
			i = end
		case c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
			end := i + 1
			for end < len(s) && !bytes.ContainsRune([]byte(",]} \n"), rune(s[end])) {
				end++
			}
			add("jn", i, end)
			i = end - 1
		}
	}
	if plain < len(s) {
		list = append(list, Token{Text: s[plain:]})
	}
	return list
}
