package encode_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/encode"
)

// FuzzMetadata: headers of any bytes come back as they were.
func FuzzMetadata(f *testing.F) {
	f.Add("a", "b", "c", "d")
	f.Add("\xff", "", "{\"base64\":\"\"}", "\x00")
	f.Add("", "é", "🙂", "\u2028")
	f.Fuzz(func(t *testing.T, name, value, other, second string) {
		want := map[string]string{name: value, other: second}
		got, err := encode.ParseMetadata(encode.Metadata(want))
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	})
}

// FuzzParseMetadata: any bytes end, and what could be read can be written.
func FuzzParseMetadata(f *testing.F) {
	for _, s := range []string{"", "{}", "[]", "null", `{"a":null}`, `{"a":{"base64":"/w=="}}`, `[["a","b"]]`, `[[{"base64":"/w=="},"b"]]`, `[[1]]`, `{"a":{"base64":1}}`, `[["a"]]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := encode.ParseMetadata(b)
		if (err == nil) != (m != nil) {
			t.Fatalf("%v and %v", m, err)
		}
		if again, wrong := encode.ParseMetadata(encode.Metadata(m)); err == nil && (wrong != nil || !maps.Equal(again, m)) {
			t.Fatalf("%q became %q, %v", m, again, wrong)
		}
	})
}

// FuzzText: what goes into a text column is text, and short enough; keys that are
// equal stay so, and others do not become it.
func FuzzText(f *testing.F) {
	f.Add("a", 5, "b")
	f.Add("\xff\x00é", 20, "\\xff\\x00é")
	f.Add(strings.Repeat("é", 300), 100, "sha256:")
	f.Fuzz(func(t *testing.T, s string, limit int, other string) {
		got := encode.Text(s, limit)
		if !encode.Clean(got) || limit >= 10 && len(got) > limit || encode.Clean(s) && (limit <= 0 || len(s) <= limit) && got != s {
			t.Fatalf("%q, limit %d: %q", s, limit, got)
		}
		most := 80
		a, b := encode.Fit(s, most), encode.Fit(other, most)
		if !encode.Clean(a) || len(a) > most || (a == b) != (s == other) {
			t.Fatalf("%q and %q fit as %q and %q", s, other, a, b)
		}
	})
}
