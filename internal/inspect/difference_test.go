package inspect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/dlq"
)

func TestDifference(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`{"a":1,"b":[1,{"c":2}],"d":null}`, `{"a":1.0,"b":[1,{"c":3},4],"e":1}`, "changed $.a, changed $.b[1].c, added $.b[2], removed $.d, added $.e"},
		{`{"a":1}`, `{ "a": 1 }`, "the same JSON, written otherwise"},
		{`[1,2]`, `[1]`, "removed $[1]"},
		{`{"a":{}}`, `{"a":[]}`, "changed $.a"},
		{"x", "xy", "2 bytes in place of 1 byte"},
		{"x", "x", ""},
	} {
		if got := strings.Join(payloads([]byte(c.a), []byte(c.b)), ", "); got != c.want {
			t.Errorf("%s, %s: %s", c.a, c.b, cmp.Diff(c.want, got))
		}
	}
	got := Difference(dlq.Content{Payload: nil, Metadata: map[string]string{"a": "1", "b": "1"}}, dlq.Content{Payload: []byte{}, Metadata: map[string]string{"a": "2", "c": "1"}})
	if diff := cmp.Diff([]string{"changed header a", "removed header b", "added header c", "0 bytes in place of a tombstone"}, got); diff != "" {
		t.Error(diff)
	}
}
