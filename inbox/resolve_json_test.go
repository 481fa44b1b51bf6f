package inbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

func payload(s string) *headrace.Delivery { return &headrace.Delivery{Payload: []byte(s)} }

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		path    []string
		payload string
		want    string
	}{
		{[]string{"id"}, `{"id":10492}`, "10492"},
		{[]string{"id"}, ` { "id" : "a b" } `, "a b"},
		{[]string{"id"}, "{\"id\":\r\n\t7\n}", "7"},
		{[]string{"id"}, `{"id":true}`, "true"},
		{[]string{"id"}, `{"id":false,"x":1}`, "false"},
		// INVARIANTS 3: 8. The digits count, not their value.
		{[]string{"id"}, `{"id":10492.0}`, "10492.0"},
		{[]string{"id"}, `{"id":1e400}`, "1e400"},
		{[]string{"id"}, `{"id":-0}`, "-0"},
		{[]string{"id"}, `{"id":12345678901234567890}`, "12345678901234567890"},
		{[]string{"id"}, `{"id":9223372036854775808}`, "9223372036854775808"},
		{[]string{"a", "b"}, `{"a":{"b":1}}`, "1"},
		{[]string{"a.b"}, `{"x":{"b":0},"a":{"c":[1,{"b":2}],"b":1},"b":3}`, "1"},
		{[]string{`a\.b`}, `{"a":{"b":2},"a.b":1}`, "1"},
		{[]string{`a\\`, "b"}, `{"a\\":{"b":1}}`, "1"},
		{[]string{"items.1.id"}, `{"items":[{"id":5},{"id":6}]}`, "6"},
		{[]string{"0"}, `[ "first" , 2]`, "first"},
		{[]string{"2"}, `[[],{"a":"]"},"x"]`, "x"},
		{[]string{"0"}, `{"0":"name"}`, "name"},
		// INVARIANTS 3: 7. The last of two members counts, as for encoding/json.
		{[]string{"id"}, `{"id":1,"id":2}`, "2"},
		{[]string{"a.id"}, `{"a":{"id":1},"a":{"id":2}}`, "2"},
		// Names and values are compared as what they say.
		{[]string{"id"}, `{"\u0069d":"\u00e9\ud83d\ude42\/\n"}`, "é🙂/\n"},
		{[]string{"é"}, `{"\u00e9":1}`, "1"},
		{[]string{"ID"}, `{"id":1,"ID":2}`, "2"},
		{[]string{"__proto__"}, `{"__proto__":"<script>"}`, "<script>"},
		{[]string{"id"}, `{"x":"\"id\":1,\\","id":2}`, "2"},
		{[]string{"id"}, `{"x":"\\","id":2}`, "2"},
		{[]string{"id"}, `{"id":"\ufffd"}`, "\ufffd"},
		{[]string{"id"}, `{"x":"\ud800","y":"` + "\xff" + `","id":1}`, "1"},
	} {
		if got := resolve(t, inbox.JSON(c.path...), payload(c.payload)); got != c.want {
			t.Errorf("%q of %s: got %q, want %q", c.path, c.payload, got, c.want)
		}
	}
}

func TestJSONAbsent(t *testing.T) {
	for path, payloads := range map[string][]string{
		"id":                     {`{}`, `{"ID":1}`, `{"id":null}`, `{"id":""}`, `null`, `[]`, `{"id":1,"id":null}`, `{"a":{"id":1}}`},
		"a.id":                   {`{"a":null}`, `{"a":{}}`, `{"a":{"id":1},"a":{}}`, `{"a":[{"id":1}]}`},
		"1":                      {`[1]`, `[]`},
		"01":                     {`[1,2]`},
		"-1":                     {`[1,2]`},
		"+1":                     {`[1,2]`},
		"9999999999999999999999": {`[1]`},
	} {
		for _, p := range payloads {
			refused(t, inbox.JSON(path), payload(p), inbox.ErrAbsent)
		}
	}
}

// INVARIANTS 3: 1-10, 14, 15. No payload makes a panic, and none is shown.
func TestJSONMalformed(t *testing.T) {
	for name, p := range map[string]string{
		"empty":                 "",
		"white space":           "  \n",
		"one zero byte":         "\x00",
		"invalid UTF-8":         "\xff",
		"text":                  "secret",
		"object":                `{"id":{"secret":1}}`,
		"array":                 `{"id":["secret"]}`,
		"lone surrogate":        `{"id":"secret\ud800"}`,
		"reversed pair":         `{"id":"secret\ude42\ud83d"}`,
		"bad UTF-8 in value":    "{\"id\":\"secret\xff\"}",
		"escaped NUL":           `{"id":"secret\u0000"}`,
		"depth 100,000":         strings.Repeat("[", 100_000),
		"depth 100,000, closed": `{"id":1,"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
		"byte order mark":       "\ufeff" + `{"id":1}`,
		"trailing garbage":      `{"id":1} secret`,
		"two values":            `{"id":1}{"id":2}`,
		"truncated":             `{"id":1`,
		"truncated string":      `{"id":"secret`,
		"leading zero":          `{"id":01}`,
		"plus":                  `{"id":+1}`,
		"NaN":                   `{"id":NaN}`,
		"white space only":      `{"id":"  "}`,
		"too long":              `{"id":"` + strings.Repeat("secret", 100) + `"}`,
		"too many digits":       `{"id":` + strings.Repeat("7", 513) + `}`,
		"a number on the way":   `7`,
		"a string on the way":   `"secret"`,
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, inbox.First(inbox.JSON("id"), inbox.Literal("fallback")), payload(p), inbox.ErrMalformed)
		})
	}
	refused(t, inbox.JSON("a.b"), payload(`{"a":"secret"}`), inbox.ErrMalformed)
	refused(t, inbox.JSON("a.0"), payload(`{"a":7}`), inbox.ErrMalformed)
}

func TestJSONInTenMiB(t *testing.T) {
	big := `{"data":"` + strings.Repeat("x", 10<<20) + `","id":7}`
	if got := resolve(t, inbox.JSON("id"), payload(big)); got != "7" {
		t.Errorf("got %q", got)
	}
}

// FuzzJSON compares the path finder with encoding/json.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"id":1}`, `{"a":{"id":"x"},"id":null}`, `{"id":"\ud800"}`, `[[["id"]]]`, `{"id":1,"id":2e9}`, "{\"id\":\"\xff\"}", `{"\u0069d":[]}`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		key, err := inbox.JSON("id")(&headrace.Delivery{Payload: b})
		if !bytes.Equal(b, before) {
			t.Fatal("the payload was changed")
		}
		if err == nil && (key == "" || !utf8.ValidString(key)) {
			t.Fatalf("key %q", key)
		}
		var object map[string]any
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if !json.Valid(b) || d.Decode(&object) != nil || object == nil {
			if err == nil {
				t.Fatalf("key %q of what is no object: %q", key, b)
			}
			return
		}
		want := ""
		switch v := object["id"].(type) {
		case string, bool, json.Number:
			want = fmt.Sprint(v)
		}
		if err == nil && key != want {
			t.Fatalf("key %q, encoding/json says %q: %q", key, want, b)
		}
		if err != nil && want != "" && utf8.Valid(b) && !strings.Contains(want, "\ufffd") {
			t.Fatalf("error %v, encoding/json says %q: %q", err, want, b)
		}
	})
}
