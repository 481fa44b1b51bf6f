package encode

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// encodable keeps what CheckJSON has found, by type.
var encodable sync.Map

// CheckJSON returns an error if no value of the type can be kept as JSON.
func CheckJSON(t reflect.Type) error {
	found, ok := encodable.Load(t)
	if !ok {
		found = without(t, map[reflect.Type]bool{})
		encodable.Store(t, found)
	}
	if bad, _ := found.(reflect.Type); bad != nil {
		return fmt.Errorf("its type %s cannot be kept as JSON: it has a %s", t, bad)
	}
	return nil
}

// without returns a type in t that has no JSON; nil if there is none.
func without(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if p := reflect.PointerTo(t); seen[t] || p.Implements(jsonMarshaler) || p.Implements(textMarshaler) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return t
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return without(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
				continue
			}
			if bad := without(f.Type, seen); bad != nil {
				return bad
			}
		}
	}
	return nil
}
