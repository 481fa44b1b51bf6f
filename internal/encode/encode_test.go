package encode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/internal/encode"
)

// Invariant 14: headers come back byte for byte, whatever bytes they hold.
func TestMetadataComesBackWhole(t *testing.T) {
	anyString := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
	texts := rapid.OneOf(rapid.String(), anyString)
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(texts, texts).Draw(t, "metadata")
		got, err := encode.ParseMetadata(encode.Metadata(want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"plain", 0, "plain"},
		{"a\x00b", 0, `a\x00b`},
		{"a\xffb", 0, `a\xffb`},
		{"grüße", 0, "grüße"},
		{"0123456789abc", 10, "0123 […]"},
		{"üüüüüüüü", 9, "ü […]"},
	} {
		got := encode.Text(c.in, c.limit)
		if got != c.want {
			t.Errorf("Text(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
		if !encode.Clean(got) || c.limit > 0 && len(got) > c.limit {
			t.Errorf("Text(%q, %d) = %q does not fit", c.in, c.limit, got)
		}
	}
}
