package search

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/spec"

	"github.com/headrace/headrace/dlq"
)

// ErrWhere matches the error of a dlq.Filter.Where that cannot be read.
var ErrWhere = errors.New("the condition cannot be read")

// Matcher decides on letters by their headers and their payload.
type Matcher struct {
	headers map[string]string
	where   *spec.FilterSelector
	literal []byte
}

// Match returns what decides on the letters of f in Go; nil if statements decide on all of it.
//
// Filter.Where is a logical expression of JSONPath (RFC 9535, as between the brackets of
// $[?…]), about the payload as $: `$.total < 0`, `$.currency == "XBT" && $.lines[0]`. It does
// not hold for a payload that is no JSON. Numbers are compared as 64-bit floats.
func Match(f dlq.Filter) (*Matcher, error) {
	if !f.InGo() {
		return nil, nil
	}
	m := &Matcher{headers: f.Headers}
	if f.Where == "" {
		return m, nil
	}
	path, err := jsonpath.Parse("$[?" + f.Where + "]")
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrWhere, f.Where, err)
	}
	segments := path.Query().Segments()
	if len(segments) != 1 || len(segments[0].Selectors()) != 1 {
		return nil, fmt.Errorf("%w: %q is not one condition", ErrWhere, f.Where)
	}
	m.where, _ = segments[0].Selectors()[0].(*spec.FilterSelector)
	m.literal = literal(f.Where)
	return m, nil
}

// comparison is a condition, or the first of several that must all hold, that needs a member
// of the payload by its name.
var comparison = regexp.MustCompile(`^\s*\$\.([A-Za-z_][A-Za-z0-9_]*)(?:\.[A-Za-z_][A-Za-z0-9_]*|\[\d+\])*\s*(?:==|<=?|>=?)\s*(?:-?[0-9.eE+]+|"[^"\\|]*"|'[^'\\|]*'|true|false|null)\s*(?:$|&&[^|]*$)`)

// literal returns bytes without which no payload fulfils the condition, unless it spells the
// name with a backslash; nil if none are known.
func literal(where string) []byte {
	if m := comparison.FindStringSubmatch(where); m != nil {
		return []byte(`"` + m[1] + `"`)
	}
	return nil
}

// Literal returns bytes that a payload for which Holds is true has, unless it has a
// backslash; nil if none are known.
func (m *Matcher) Literal() []byte { return m.literal }

// Holds decides on a message.
func (m *Matcher) Holds(payload []byte, headers map[string]string) bool {
	for name, want := range m.headers {
		if value, ok := headers[name]; !ok || value != want {
			return false
		}
	}
	if m.where == nil {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	var document any
	if d.Decode(&document) != nil {
		return false
	}
	if _, err := d.Token(); err != io.EOF { // more than one document
		return false
	}
	return m.where.Eval(document, document)
}
