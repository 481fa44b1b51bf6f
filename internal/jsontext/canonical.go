package jsontext

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of JSON with a canonical form. It bounds the stack, and the
// copies for unsorted members at each level.
const maxDepth = 128

// AppendCanonical appends document to out in its canonical form, and reports whether it has
// one; otherwise it returns out unchanged. Text that is not valid Unicode has none: readers
// replace it by U+FFFD, two names may become one, and then the order of members matters. An
// object with two members of one name has none either.
func AppendCanonical(out, document []byte) ([]byte, bool) {
	c := canonical{in: document, out: slices.Grow(out, len(document))}
	if utf8.Valid(document) && json.Valid(document) && c.value(0) {
		return c.out, true
	}
	return out, false
}

// canonical writes valid JSON in canonical form, in one pass and without a tree of values.
type canonical struct {
	in      []byte
	pos     int
	out     []byte
	members []member // of the open objects, innermost last
	scratch []byte
}

// member is a member in out: its name is out[start:name], the whole out[start:end].
type member struct{ start, name, end int }

// peek skips white space and returns the next byte.
func (c *canonical) peek() byte {
	for {
		switch b := c.in[c.pos]; b {
		case ' ', '\t', '\r', '\n':
			c.pos++
		default:
			return b
		}
	}
}

// take appends the next n bytes unchanged.
func (c *canonical) take(n int) bool {
	c.out = append(c.out, c.in[c.pos:c.pos+n]...)
	c.pos += n
	return true
}

func (c *canonical) value(depth int) bool {
	switch c.peek() {
	case '{':
		return depth < maxDepth && c.object(depth+1)
	case '[':
		return depth < maxDepth && c.array(depth+1)
	case '"':
		return c.text()
	}
	end := bytes.IndexAny(c.in[c.pos:], " \t\r\n,]}")
	if end < 0 {
		end = len(c.in) - c.pos
	}
	return c.take(end) // numbers digit by digit
}

func (c *canonical) array(depth int) bool {
	c.take(1) // [
	for c.peek() != ']' {
		if !c.value(depth) {
			return false
		}
		if c.peek() == ',' {
			c.take(1)
		}
	}
	return c.take(1)
}

func (c *canonical) object(depth int) bool {
	c.take(1) // {
	base, start, sorted := len(c.members), len(c.out), true
	for c.peek() != '}' {
		m := member{start: len(c.out)}
		if !c.text() {
			return false
		}
		m.name = len(c.out)
		c.peek()
		c.take(1) // :
		if !c.value(depth) {
			return false
		}
		m.end = len(c.out)
		c.members = append(c.members, m)
		if n := len(c.members); n > base+1 && sorted {
			sorted = c.compare(c.members[n-2], m) < 0
		}
		if c.peek() == ',' {
			c.take(1)
		}
	}
	if !sorted && !c.sort(base, start) {
		return false
	}
	c.members = c.members[:base]
	return c.take(1)
}

func (c *canonical) compare(a, b member) int {
	return bytes.Compare(c.out[a.start:a.name], c.out[b.start:b.name])
}

// sort sorts the members of the innermost object, which begin at out[start], by their
// names. It reports false if two have one name: readers differ in which one they use.
func (c *canonical) sort(base, start int) bool {
	members := c.members[base:]
	slices.SortFunc(members, c.compare)
	for i := range members[1:] {
		if c.compare(members[i], members[i+1]) == 0 {
			return false
		}
	}
	c.scratch = append(c.scratch[:0], c.out[start:]...)
	c.out = c.out[:start]
	for i, m := range members {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, c.scratch[m.start-start:m.end-start]...)
	}
	return true
}

// text appends a string.
func (c *canonical) text() bool {
	c.take(1) // the quote
	for {
		n := bytes.IndexAny(c.in[c.pos:], `"\`)
		c.take(n)
		if c.in[c.pos] == '"' {
			return c.take(1)
		}
		r, n := unescape(c.in[c.pos:])
		if utf16.IsSurrogate(r) {
			return false
		}
		c.out = appendRune(c.out, r)
		c.pos += n
	}
}
