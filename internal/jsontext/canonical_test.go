package jsontext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func canonicalOf(b []byte) (string, bool) {
	form, ok := AppendCanonical(nil, b)
	return string(form), ok
}

// FuzzCanonical holds the canonical form against encoding/json: the same documents
// are JSON, and the form says what the document says. It never changes again.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{"b":1,"a":[true,false,null,"x\u0041\ud83d\ude42\ud800"]}`, `{"a":1,"a":2}`, ` [ 1e5 , -0.0 ] `, `"\"\\\/\b\f\n\r\t"`,
		`[[[[]]]]`, `{"":{"":{}}}`, "\xff", ``, `01`, `1.`, `-`, `1e`, `tru`, `[1,]`, `{"a":1,}`, "\"\x01\"", "\"\xff\"", "\ufeff1",
		strings.Repeat(`[`, 129) + strings.Repeat(`]`, 129), strings.Repeat(`{"a":`, 200), `{"b":{"d":1,"c":2},"a":3}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		form, ok := canonicalOf(b)
		if !bytes.Equal(b, before) {
			t.Fatal("the document was changed")
		}
		if !ok {
			if form != "" {
				t.Fatalf("%q is left of a document without a form: %q", form, b)
			}
			if json.Valid(b) && unicodeText(b) && depth(b) <= maxDepth && !namesTwice(b) {
				t.Fatalf("no canonical form: %q", b)
			}
			return
		}
		if !json.Valid(b) || !json.Valid([]byte(form)) {
			t.Fatalf("%q is the form of %q, and one of them is no JSON", form, b)
		}
		if again, ok := canonicalOf([]byte(form)); !ok || again != form {
			t.Fatalf("%q became %q", form, again)
		}
		if a, b := decoded(t, b), decoded(t, []byte(form)); !reflect.DeepEqual(a, b) {
			t.Fatalf("%v became %v", a, b)
		}
	})
}

func decoded(t *testing.T, b []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// unicodeText reports whether no string of b is read with U+FFFD put in. One that has
// it in clear may be taken for such.
func unicodeText(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.Token()
		if err != nil {
			return utf8.Valid(b)
		}
		if s, ok := token.(string); ok && strings.ContainsRune(s, utf8.RuneError) {
			return false
		}
	}
}

// depth returns how deep b is nested, by encoding/json.
func depth(b []byte) (deepest int) {
	d := json.NewDecoder(bytes.NewReader(b))
	for level := 0; ; {
		switch token, err := d.Token(); {
		case err != nil:
			return deepest
		case token == json.Delim('{'), token == json.Delim('['):
			level++
			deepest = max(deepest, level)
		case token == json.Delim('}'), token == json.Delim(']'):
			level--
		}
	}
}

// namesTwice reports whether an object of b has two members of one name; names that
// encoding/json makes equal with U+FFFD may be reported too.
func namesTwice(b []byte) bool {
	d := json.NewDecoder(bytes.NewReader(b))
	return namesTwiceIn(d)
}

func namesTwiceIn(d *json.Decoder) bool {
	token, err := d.Token()
	delim, isDelim := token.(json.Delim)
	if err != nil || !isDelim {
		return false
	}
	twice, names := false, make(map[string]bool)
	for d.More() {
		if delim == '{' {
			name, err := d.Token()
			if err != nil {
				return twice
			}
			s, _ := name.(string)
			twice = twice || names[s]
			names[s] = true
		}
		twice = namesTwiceIn(d) || twice
	}
	_, _ = d.Token()
	return twice
}

// INVARIANTS 3: 9. The stack is bounded whatever the payload.
func TestCanonicalDepth(t *testing.T) {
	nest := func(open, shut string, n int) []byte {
		return []byte(strings.Repeat(open, n) + "1" + strings.Repeat(shut, n))
	}
	for _, c := range []struct{ open, shut string }{{"[", "]"}, {`{"a":`, "}"}, {`[{"b":0,"a":`, "}]"}} {
		per := strings.Count(c.open, "[") + strings.Count(c.open, "{")
		if _, ok := canonicalOf(nest(c.open, c.shut, maxDepth/per)); !ok {
			t.Errorf("%s: depth %d has no canonical form", c.open, maxDepth)
		}
		if _, ok := canonicalOf(nest(c.open, c.shut, maxDepth/per+1)); ok {
			t.Errorf("%s: depth above %d has a canonical form", c.open, maxDepth)
		}
		if _, ok := canonicalOf(nest(c.open, c.shut, 100_000)); ok {
			t.Errorf("%s: depth 100,000 has a canonical form", c.open)
		}
	}
}

// What was there before stays, also after a failure half way.
func TestAppendCanonical(t *testing.T) {
	for _, s := range []string{`{"b":{"z":1,"y":2},"a":3}`, `{"b":{"z":1,"y":2`, `{"q":1,"p":{"a":1,"a":2}}`} {
		form, _ := canonicalOf([]byte(s))
		if out, _ := AppendCanonical(append(make([]byte, 0, 100), "before"...), []byte(s)); string(out) != "before"+form {
			t.Errorf("%s: %q, want %q", s, out, "before"+form)
		}
	}
}
