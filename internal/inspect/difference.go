package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/headrace/headrace/dlq"
)

// maxPlaces bounds how many places of a difference are named.
const maxPlaces = 20

// Difference says where two contents differ, without what they say: JSON by its paths. Nil says that
// they are the same.
func Difference(a, b dlq.Content) (places []string) {
	for _, name := range slices.Sorted(maps.Keys(a.Metadata)) {
		if value, ok := b.Metadata[name]; !ok {
			places = append(places, "removed header "+name)
		} else if value != a.Metadata[name] {
			places = append(places, "changed header "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Metadata)) {
		if _, ok := a.Metadata[name]; !ok {
			places = append(places, "added header "+name)
		}
	}
	places = append(places, payloads(a.Payload, b.Payload)...)
	if more := len(places) - maxPlaces; more > 0 {
		places = append(places[:maxPlaces], fmt.Sprintf("and %d more", more))
	}
	return places
}

// payloads says where two payloads differ.
func payloads(a, b []byte) (places []string) {
	if bytes.Equal(a, b) && (a == nil) == (b == nil) {
		return nil
	}
	from, ok := value(a)
	to, ok2 := value(b)
	if ok && ok2 {
		compare(&places, "$", from, to)
		if len(places) == 0 {
			places = []string{"the same JSON, written otherwise"}
		}
		return places
	}
	return []string{size(b) + " in place of " + size(a)}
}

func size(payload []byte) string {
	if payload == nil {
		return "a tombstone"
	}
	if len(payload) == 1 {
		return "1 byte"
	}
	return strconv.Itoa(len(payload)) + " bytes"
}

// value parses JSON.
func value(payload []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	return v, d.Decode(&v) == nil && !d.More()
}

// compare adds the paths at which two values differ.
func compare(places *[]string, path string, a, b any) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			members(places, path, x, y)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			for i := range max(len(x), len(y)) {
				at := path + "[" + strconv.Itoa(i) + "]"
				switch {
				case i >= len(y):
					*places = append(*places, "removed "+at)
				case i >= len(x):
					*places = append(*places, "added "+at)
				default:
					compare(places, at, x[i], y[i])
				}
			}
			return
		}
	}
	if !reflect.DeepEqual(a, b) {
		*places = append(*places, "changed "+path)
	}
}

func members(places *[]string, path string, a, b map[string]any) {
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		from, had := a[name]
		to, has := b[name]
		switch at := path + "." + name; {
		case !has:
			*places = append(*places, "removed "+at)
		case !had:
			*places = append(*places, "added "+at)
		default:
			compare(places, at, from, to)
		}
	}
}
