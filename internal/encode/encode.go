package encode

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// raw is a string of bytes that are not UTF-8; encoding/json writes it in base64.
type raw struct {
	Base64 []byte `json:"base64"`
}

// Metadata encodes headers as a JSON object of strings. Values that are not valid UTF-8
// become {"base64": …}. If a name is not valid, the result is an array of pairs.
func Metadata(m map[string]string) []byte {
	if len(m) == 0 {
		return []byte("{}")
	}
	named, plain := true, true // all names are valid, all values too
	for name, value := range m {
		named, plain = named && utf8.ValidString(name), plain && utf8.ValidString(value)
	}
	switch {
	case named && plain:
		return marshal(m)
	case named:
		object := make(map[string]any, len(m))
		for name, value := range m {
			object[name] = value1(value)
		}
		return marshal(object)
	}
	var pairs [][2]any
	for name, value := range m {
		pairs = append(pairs, [2]any{value1(name), value1(value)})
	}
	return marshal(pairs)
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // strings and bytes always have a JSON form
		panic("encode: " + err.Error())
	}
	return b
}

func value1(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return raw{[]byte(s)}
}

// text reads either form of a value.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var r raw
		if err := json.Unmarshal(b, &r); err != nil {
			return err
		}
		*t = text(r.Base64)
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}

// ParseMetadata reads the output of Metadata. Without an error the result is never nil.
func ParseMetadata(b []byte) (map[string]string, error) {
	m := make(map[string]string)
	if len(b) > 0 && b[0] == '[' {
		var list [][2]text
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, fmt.Errorf("read metadata: %w", err)
		}
		for _, pair := range list {
			m[string(pair[0])] = string(pair[1])
		}
		return m, nil
	}
	var object map[string]text
	if err := json.Unmarshal(b, &object); err != nil {
		return nil, fmt.Errorf("read metadata: %w", err)
	}
	for name, value := range object {
		m[name] = string(value)
	}
	return m, nil
}

// Text makes s fit a text column for people to read. NUL and bytes that are not UTF-8
// become \x escapes. Text over limit bytes is cut at a character's boundary and marked.
// limit 0 means no limit.
func Text(s string, limit int) string {
	if !Clean(s) {
		var b strings.Builder
		for i, r := range s {
			switch _, n := utf8.DecodeRuneInString(s[i:]); {
			case r == 0, r == utf8.RuneError && n == 1:
				fmt.Fprintf(&b, `\x%02x`, s[i])
			default:
				b.WriteRune(r)
			}
		}
		s = b.String()
	}
	if limit <= 0 || len(s) <= limit {
		return s
	}
	const mark = " […]"
	return Cut(s, limit-len(mark)) + mark
}

// Cut returns at most the first n bytes of s, cut at a character's boundary.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n = max(n, 0); n > 0 && !utf8.RuneStart(s[n]); {
		n--
	}
	return s[:n]
}

// Short cuts s to at most width characters, of which the last is then "…". width is at least 1.
func Short(s string, width int) string {
	runes := []rune(s)
	if len(runes) <= width {
		return s
	}
	return string(runes[:width-1]) + "…"
}

// Check returns an error if s has more than most bytes, or is not text as columns require.
// what is used in the error.
func Check(what, s string, most int) error {
	switch {
	case len(s) > most:
		return fmt.Errorf("%s has %d bytes, at most %d are allowed", what, len(s), most)
	case !Clean(s):
		return fmt.Errorf("%s holds a NUL byte or is not valid UTF-8", what)
	}
	return nil
}

// Clean reports whether s is valid UTF-8 without NUL, as text columns require.
func Clean(s string) bool {
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}
