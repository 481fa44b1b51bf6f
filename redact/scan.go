package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Payload returns a payload without what the rules hide: JSON, lines of JSON, a form, other text, or bytes.
// The result is b itself if nothing is hidden.
func (r *Rules) Payload(b []byte) []byte {
	s := scanner{rules: r, in: b, valid: json.Valid(b)}
	s.run()
	out := s.result()
	if s.valid {
		return out
	}
	text := string(out)
	if clean := r.Text(text); clean != text {
		return []byte(clean)
	}
	return out
}

// Headers returns a copy of headers without what the rules hide.
func (r *Rules) Headers(headers map[string]string) map[string]string {
	if headers == nil {
		return nil
	}
	out := make(map[string]string, len(headers))
	for name, value := range headers {
		out[name] = r.Header(name, value)
	}
	return out
}

// Header returns the value of a header without what the rules hide, which is all of it if its name tells.
func (r *Rules) Header(name, value string) string {
	folded := fold(name)
	for _, p := range r.headers {
		if value != "" && p.matches(folded) {
			return Mark
		}
	}
	return string(r.Payload([]byte(value)))
}

// scanner reads JSON, and passes over what is none. It copies what it does not hide.
type scanner struct {
	rules *Rules
	in    []byte
	valid bool // all of it is JSON

	at, copied int
	out        []byte
	names      []string // of the members around, folded
	open       []int    // for each open bracket, how many names were there before
}

func (s *scanner) run() {
	for s.at < len(s.in) {
		switch c := s.in[s.at]; {
		case c == '"':
			s.text()
		case c == '{' || c == '[':
			s.open = append(s.open, len(s.names))
			s.at++
		case c == '}' || c == ']':
			if n := len(s.open); n > 0 {
				s.open = s.open[:n-1]
			}
			s.next()
		case c == ',':
			s.next()
		case c >= '0' && c <= '9':
			s.number()
		default:
			s.at++
		}
	}
}

// next passes over a byte that ends a member, and forgets its name.
func (s *scanner) next() {
	s.at++
	before := 0
	if n := len(s.open); n > 0 {
		before = s.open[n-1]
	}
	s.names = s.names[:min(len(s.names), before)]
}

// text reads a string, which may be the name of a member.
func (s *scanner) text() {
	start := s.at
	s.at = endOfString(s.in, start)
	raw := s.in[start:s.at]
	value, ok := unquote(raw)
	after := s.at + blanks(s.in[s.at:])
	if after < len(s.in) && s.in[after] == ':' {
		if clean := s.rules.Text(value); clean != value && ok {
			s.replace(start, quote(clean))
		}
		s.at = after + 1
		s.member(value)
		return
	}
	if clean := s.value(value); clean != value && ok {
		s.replace(start, quote(clean))
	}
}

// value returns a string without what is hidden in it, which may be JSON itself. Each string in a string doubles the backslashes,
// so they are few.
func (s *scanner) value(text string) string {
	if inner := strings.TrimLeft(text, " \t\r\n"); inner != "" && (inner[0] == '{' || inner[0] == '[') {
		return string(s.rules.Payload([]byte(text)))
	}
	return s.rules.Text(text)
}

// member hides the value that follows, or remembers the name for what is inside of it.
func (s *scanner) member(name string) {
	s.names = append(s.names, fold(name))
	if !s.rules.hides(s.names) {
		return
	}
	s.at += blanks(s.in[s.at:])
	start := s.at
	s.at = endOfValue(s.in, start)
	switch value := string(s.in[start:s.at]); value {
	case "", "null", `""`:
	default:
		s.replace(start, quote(Mark))
	}
}

// number hides a number that looks like a secret.
func (s *scanner) number() {
	start := s.at
	for s.at < len(s.in) && strings.IndexByte("+-.0123456789eE", s.in[s.at]) >= 0 {
		s.at++
	}
	if len(s.open) == 0 && !s.valid { // in other text
		return
	}
	if start > 0 && s.in[start-1] == '-' {
		start--
	}
	if text := string(s.in[start:s.at]); s.rules.Text(text) != text {
		s.replace(start, quote(Mark))
	}
}

// replace puts text where in has start to at.
func (s *scanner) replace(start int, text []byte) {
	s.out = append(append(s.out, s.in[s.copied:start]...), text...)
	s.copied = s.at
}

func (s *scanner) result() []byte {
	if s.copied == 0 {
		return s.in
	}
	return append(s.out, s.in[s.copied:]...)
}

// endOfString returns where the string ends that begins at start.
func endOfString(b []byte, start int) int {
	for i := start + 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// endOfValue returns where the value ends that begins at start. What is never closed reaches to the end.
func endOfValue(b []byte, start int) int {
	open := 0
	for i := start; i < len(b); {
		switch b[i] {
		case '"':
			if i = endOfString(b, i); open == 0 {
				return i
			}
		case '{', '[':
			open++
			i++
		case '}', ']':
			if open == 0 {
				return i
			}
			i++
			if open--; open == 0 {
				return i
			}
		case ',', ' ', '\t', '\r', '\n':
			if open == 0 {
				return i
			}
			i++
		default:
			i++
		}
	}
	return len(b)
}

func blanks(b []byte) int { return len(b) - len(bytes.TrimLeft(b, " \t\r\n")) }

// unquote returns the text of a JSON string, and whether it is one.
func unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[len(raw)-1] != '"' {
		return string(raw), false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw[1 : len(raw)-1]), true
	}
	return text, true
}

func quote(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string always has a JSON form
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
