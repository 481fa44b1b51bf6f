package codec

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// finder finds the value of a payload that does not fit its Go type. The errors of
// encoding/json do not say where that is if a type refuses it, or a struct has no field.
type finder struct{ codec *jsonCodec }

// place is where a value is.
type place struct {
	offset int64 // where it begins
	field  string
	depth  int
}

// maxFind bounds how deep the finder looks: each level is decoded once more.
const maxFind = 16

// find returns the error of the first value that does not fit, of value or in it; nil if
// value fits t.
func (f finder) find(value []byte, t reflect.Type, at place) *Error {
	err := f.codec.unmarshal(value, reflect.New(t).Interface())
	if err == nil {
		return nil
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if at.depth < maxFind && !decodesItself(t) {
		if e := f.inside(value, t, at); e != nil {
			return e
		}
	}
	return &Error{Offset: at.offset, Field: at.field, Reason: reason(err, t)}
}

// decodesItself reports whether t has a way of its own to read JSON.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// inside is find for what value contains.
func (f finder) inside(value []byte, t reflect.Type, at place) *Error {
	object := t.Kind() == reflect.Struct || t.Kind() == reflect.Map
	list := t.Kind() == reflect.Slice || t.Kind() == reflect.Array
	if !(object && value[0] == '{' || list && value[0] == '[') {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(value))
	_, _ = d.Token() // value is JSON
	for d.More() {
		in := place{field: at.field, depth: at.depth + 1}
		of, known, name := t, true, ""
		if object {
			before := d.InputOffset()
			token, _ := d.Token()
			name = token.(string)
			if of, in.field, known = member(t, name, at.field); of == nil && !known && f.codec.known {
				begins := before + int64(bytes.IndexByte(value[before:], '"'))
				return &Error{Offset: at.offset + begins, Field: at.field, Reason: fmt.Sprintf("a member that %s has no field for", t)}
			}
		} else {
			of = t.Elem()
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return nil
		}
		in.offset = at.offset + d.InputOffset() - int64(len(raw))
		if of == nil {
			if known && !f.fits(t, name, raw) {
				return &Error{Offset: in.offset, Field: in.field, Reason: "a value in a string expected, another value found"}
			}
			continue
		}
		if e := f.find(raw, of, in); e != nil {
			return e
		}
	}
	return nil
}

// fits reports whether the member of that name alone fits t.
func (f finder) fits(t reflect.Type, name string, value []byte) bool {
	object, err := json.Marshal(map[string]json.RawMessage{name: value})
	return err != nil || f.codec.unmarshal(object, reflect.New(t).Interface()) == nil
}

// member returns the type of a member of t, a struct or a map, and the path of its field.
// The type is nil if the member is not decoded by its type alone, but by its option string; known says whether there is
// a field.
func member(t reflect.Type, name, path string) (of reflect.Type, field string, known bool) {
	if t.Kind() == reflect.Map {
		return t.Elem(), path, true
	}
	var found reflect.StructField
	for _, f := range reflect.VisibleFields(t) {
		own, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || own == "-" && options == "" || own == "" && f.Anonymous && kindName(f.Type) == "object":
			continue
		case own == "":
			own = f.Name
		}
		if own == name || !known && strings.EqualFold(own, name) {
			found, field, known = f, own, true
		}
	}
	if path != "" {
		field = path + "." + field
	}
	if _, options, _ := strings.Cut(found.Tag.Get("json"), ","); !known || options != "" && strings.Contains(","+options+",", ",string,") {
		return nil, field, known
	}
	return found.Type, field, true
}
