package jsontext

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Path leads to a value inside a document: names of members, or indexes of arrays.
type Path []string

// ParsePath splits each of elements at its dots; a backslash escapes a following dot or
// backslash. ok is false if a name is empty, or is one that encoding/json also reads where
// the document has invalid Unicode.
func ParsePath(elements ...string) (p Path, ok bool) {
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
	bad := func(name string) bool {
		return name == "" || !utf8.ValidString(name) || strings.ContainsRune(name, utf8.RuneError)
	}
	return p, len(p) > 0 && !slices.ContainsFunc(p, bad)
}

// String returns p with dots, for errors.
func (p Path) String() string { return strings.Join(p, ".") }

// Find returns the value at p in document, which must be valid JSON: nil if a name or an
// index is not there, or null is on the way. blocked says that a string, number or bool is on
// the way. Names are compared as encoding/json reads them, and of members with one name the
// last one is used.
func (p Path) Find(document []byte) (value []byte, blocked bool) {
	value = bytes.TrimSpace(document)
	for _, name := range p {
		switch value[0] {
		case '{':
			value = memberOf(value, name)
		case '[':
			value = elementOf(value, name)
		case 'n':
			return nil, false
		default:
			return nil, true
		}
		if value == nil {
			return nil, false
		}
	}
	return value, false
}

// memberOf returns the value of the last member of object called name; nil if there is
// none.
func memberOf(object []byte, name string) (value []byte) {
	d := json.NewDecoder(bytes.NewReader(object))
	_, err := d.Token()
	for err == nil && d.More() { // no errors: the document is valid
		var found json.Token
		var member json.RawMessage
		if found, err = d.Token(); err == nil {
			err = d.Decode(&member)
		}
		if found == name {
			value = member
		}
	}
	return value
}

// elementOf returns the element of array at index; nil if there is none.
func elementOf(array []byte, index string) []byte {
	n, err := strconv.Atoi(index)
	if err != nil || strconv.Itoa(n) != index {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(array))
	_, err = d.Token()
	for ; err == nil && d.More(); n-- {
		var element json.RawMessage
		if err = d.Decode(&element); n == 0 {
			return element
		}
	}
	return nil
}
