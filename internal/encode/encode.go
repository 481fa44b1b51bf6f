package encode

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// raw is a string of bytes that are no UTF-8; encoding/json writes it in base64.
type raw struct {
	Base64 []byte `json:"base64"`
}

// Metadata encodes headers as a JSON object of strings. Values that are not valid
// UTF-8 become {"base64": …}; if a name is not, the whole is an array of pairs.
func Metadata(m map[string]string) []byte {
	if len(m) == 0 {
		return []byte("{}")
	}
	for name := range m {
		if !utf8.ValidString(name) {
			return pairs(m)
		}
	}
	object := make(map[string]any, len(m))
	for name, value := range m {
		object[name] = value1(value)
	}
	return must(json.Marshal(object))
}

func pairs(m map[string]string) []byte {
	list := make([][2]any, 0, len(m))
	for name, value := range m {
		list = append(list, [2]any{value1(name), value1(value)})
	}
	return must(json.Marshal(list))
}

func value1(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return raw{[]byte(s)}
}

// must panics on err: strings and bytes always have a JSON form.
func must(b []byte, err error) []byte {
	if err != nil {
		panic("encode: " + err.Error())
	}
	return b
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

// ParseMetadata reads what Metadata wrote. The result is never nil without an error.
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

// Text makes s fit a text column for people to read: NUL and bytes that are no
// UTF-8 become \x escapes, and what exceeds limit bytes is cut at a character's
// boundary and marked. limit 0 means no limit.
func Text(s string, limit int) string {
	if !Clean(s) {
		var b strings.Builder
		for i := 0; i < len(s); {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == 0 || r == utf8.RuneError && n == 1 {
				b.WriteString(`\x` + hex2(s[i]))
			} else {
				b.WriteString(s[i : i+n])
			}
			i += n
		}
		s = b.String()
	}
	const mark = " […]"
	if limit <= 0 || len(s) <= limit {
		return s
	}
	cut := max(limit-len(mark), 0)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

func hex2(b byte) string {
	h := strconv.FormatUint(uint64(b), 16)
	if len(h) == 1 {
		return "0" + h
	}
	return h
}

// Clean reports whether s is valid UTF-8 without NUL: what text columns take.
func Clean(s string) bool {
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}
