package inbox

import (
	"bytes"
	"slices"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep JSON may be nested to have a canonical form. It bounds the
// stack, and the copies that unsorted members cost at each level.
const maxDepth = 128

// canonical writes JSON in its canonical form: members sorted, no white space, each
// character as itself where JSON allows it. It reads and writes in one pass, without
// a tree of values.
type canonical struct {
	in      []byte
	pos     int
	out     []byte
	members []span // of the objects that are open, innermost last
	scratch []byte
}

// span is a member in out: its name is out[start:name], all of it out[start:end].
type span struct{ start, name, end int }

var canonicals = sync.Pool{New: func() any { return new(canonical) }}

// maxKept is the largest buffer that goes back to the pool.
const maxKept = 64 << 10

func (c *canonical) release() {
	if c.in = nil; cap(c.out) <= maxKept && cap(c.members) <= maxKept/32 {
		canonicals.Put(c)
	}
}

// value appends b in its canonical form, or b as it is where it has none.
func (c *canonical) value(b []byte) {
	if !c.document(b) {
		c.out = append(c.out, b...)
	}
}

// document appends b in its canonical form and reports whether it has one. Text that
// is no Unicode has none: readers put U+FFFD in, two names may become one, and then
// the order of the members counts.
func (c *canonical) document(b []byte) bool {
	start := len(c.out)
	c.in, c.pos, c.members = b, 0, c.members[:0]
	if utf8.Valid(b) && c.any(0) && c.peek() == 0 && c.pos == len(b) {
		return true
	}
	c.out = c.out[:start]
	return false
}

// peek passes over white space and returns the next byte, or 0 at the end.
func (c *canonical) peek() byte {
	for c.pos < len(c.in) {
		switch b := c.in[c.pos]; b {
		case ' ', '\t', '\r', '\n':
			c.pos++
		default:
			return b
		}
	}
	return 0
}

func (c *canonical) any(depth int) bool {
	switch c.peek() {
	case '{':
		return depth < maxDepth && c.object(depth+1)
	case '[':
		return depth < maxDepth && c.array(depth+1)
	case '"':
		return c.text()
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	}
	return c.number()
}

func (c *canonical) array(depth int) bool {
	c.take() // [
	if c.peek() == ']' {
		return c.take()
	}
	for c.any(depth) {
		switch c.peek() {
		case ',':
			c.take()
		case ']':
			return c.take()
		default:
			return false
		}
	}
	return false
}

func (c *canonical) object(depth int) bool {
	c.take() // {
	base, start, sorted := len(c.members), len(c.out), true
	if c.peek() == '}' {
		return c.take()
	}
	for {
		m := span{start: len(c.out)}
		if c.peek() != '"' || !c.text() {
			return false
		}
		m.name = len(c.out)
		if c.peek() != ':' || !c.take() || !c.any(depth) {
			return false
		}
		m.end = len(c.out)
		c.members = append(c.members, m)
		if n := len(c.members); n > base+1 && sorted {
			sorted = c.compare(c.members[n-2], m) < 0
		}
		switch c.peek() {
		case ',':
			c.take()
		case '}':
			if !sorted && !c.sort(base, start) {
				return false
			}
			c.members = c.members[:base]
			return c.take()
		default:
			return false
		}
	}
}

func (c *canonical) compare(a, b span) int {
	return bytes.Compare(c.out[a.start:a.name], c.out[b.start:b.name])
}

// sort brings the members of the innermost object, which stand in out from start, in
// the order of their names. It reports false if one name is there twice: which of
// them counts depends on who reads.
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

// take appends the next byte as it is.
func (c *canonical) take() bool {
	c.out = append(c.out, c.in[c.pos])
	c.pos++
	return true
}

func (c *canonical) word(w string) bool {
	if string(c.in[c.pos:min(c.pos+len(w), len(c.in))]) != w {
		return false
	}
	c.out = append(c.out, w...)
	c.pos += len(w)
	return true
}

// number appends a number digit by digit.
func (c *canonical) number() bool {
	n := numberEnd(c.in[c.pos:])
	c.out = append(c.out, c.in[c.pos:c.pos+n]...)
	c.pos += n
	return n > 0
}

// text appends a string.
func (c *canonical) text() bool {
	c.take() // the quote
	for done := c.pos; c.pos < len(c.in); {
		switch b := c.in[c.pos]; {
		case b == '"':
			c.out = append(c.out, c.in[done:c.pos]...)
			return c.take()
		case b < ' ':
			return false
		case b == '\\':
			r, n, ok := unescape(c.in[c.pos:])
			if !ok || utf16.IsSurrogate(r) {
				return false
			}
			c.out = appendRune(append(c.out, c.in[done:c.pos]...), r)
			c.pos += n
			done = c.pos
		default:
			c.pos++
		}
	}
	return false
}
