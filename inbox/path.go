package inbox

import (
	"bytes"
	"strconv"
	"strings"
)

// path leads to a value inside a JSON document: names of members, or indexes of
// arrays.
type path []string

// parsePath splits each of elements at its dots; a backslash takes the meaning from
// a dot or a backslash that follows. ok is false where a name is empty.
func parsePath(elements ...string) (p path, ok bool) {
	for _, element := range elements {
		var name strings.Builder
		for i := 0; i < len(element); i++ {
			c := element[i]
			switch {
			case c == '\\' && i+1 < len(element) && (element[i+1] == '.' || element[i+1] == '\\'):
				i++
				name.WriteByte(element[i])
			case c == '.':
				p = append(p, name.String())
				name.Reset()
			default:
				name.WriteByte(c)
			}
		}
		p = append(p, name.String())
	}
	for _, name := range p {
		if name == "" {
			return nil, false
		}
	}
	return p, len(p) > 0
}

// String gives p with dots, for errors.
func (p path) String() string { return strings.Join(p, ".") }

// found says how far a path led.
type found int

const (
	there   found = iota
	missing       // a name or index that is not there, or null on the way
	blocked       // a string, number or bool on the way
)

// find returns the value that p leads to in document, which must be valid JSON. Of
// members of one name the last counts, as encoding/json reads them.
func (p path) find(document []byte) ([]byte, found) {
	value := bytes.TrimLeft(document, jsonSpace)
	for _, name := range p {
		var ok bool
		switch value[0] {
		case '{':
			value, ok = member(value, name)
		case '[':
			value, ok = element(value, name)
		case 'n':
			return nil, missing
		default:
			return nil, blocked
		}
		if !ok {
			return nil, missing
		}
	}
	return value[:valueEnd(value)], there
}

const jsonSpace = " \t\r\n"

// member returns what stands from the value of the last member name of the object
// that s starts with.
func member(s []byte, name string) (value []byte, ok bool) {
	s = bytes.TrimLeft(s[1:], jsonSpace)
	for s[0] != '}' {
		end := stringEnd(s)
		same := sameName(s[:end], name)
		s = bytes.TrimLeft(s[end:], jsonSpace)
		s = bytes.TrimLeft(s[1:], jsonSpace) // the colon
		if same {
			value, ok = s, true
		}
		s = next(s)
	}
	return value, ok
}

// element returns what stands from the element of this index of the array that s
// starts with.
func element(s []byte, index string) ([]byte, bool) {
	n, err := strconv.Atoi(index)
	if err != nil || n < 0 || strconv.Itoa(n) != index {
		return nil, false
	}
	s = bytes.TrimLeft(s[1:], jsonSpace)
	for ; s[0] != ']'; n-- {
		if n == 0 {
			return s, true
		}
		s = next(s)
	}
	return nil, false
}

// next passes over the value that s starts with and a comma after it.
func next(s []byte) []byte {
	s = bytes.TrimLeft(s[valueEnd(s):], jsonSpace)
	if s[0] == ',' {
		s = bytes.TrimLeft(s[1:], jsonSpace)
	}
	return s
}

// valueEnd returns where the value that s starts with ends. It does not recurse.
func valueEnd(s []byte) int {
	depth := 0
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '"':
			i += stringEnd(s[i:])
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ' ', '\t', '\r', '\n', ',', ':':
			i++
			continue
		default:
			i += wordEnd(s[i:])
		}
		if depth == 0 {
			return i
		}
	}
	return len(s)
}

// wordEnd returns where the number, true, false or null that s starts with ends.
func wordEnd(s []byte) int {
	if i := bytes.IndexAny(s, " \t\r\n,:]}"); i >= 0 {
		return i
	}
	return len(s)
}

// stringEnd returns where the string that s starts with ends.
func stringEnd(s []byte) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// sameName reports whether quoted, a JSON string, says name.
func sameName(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1:len(quoted)-1]) == name
	}
	s, ok := unquote(quoted)
	return ok && s == name
}
