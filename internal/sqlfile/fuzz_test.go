package sqlfile_test

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/sqlfile"
)

// FuzzSubstitute: either no token is left, or the file is refused; what a statement says
// is its comment and no more.
func FuzzSubstitute(f *testing.F) {
	for _, s := range []string{"", "SELECT {{schema}}.t", "{{schema}}{{schema}}", "{{ schema }}", "{{{schema}}}", "}}{{", "-- a\n--b\nSELECT 1 -- c"} {
		f.Add(s, `"public"`)
		f.Add(s, `"{{schema}}"`)
	}
	f.Fuzz(func(t *testing.T, text, schema string) {
		got, err := sqlfile.Substitute(text, schema)
		if err != nil {
			if got != "" || !strings.Contains(text, "{{") && !strings.Contains(text, "}}") {
				t.Fatalf("%q: %q, %v", text, got, err)
			}
			return
		}
		if n := strings.Count(text, "{{schema}}"); len(got) != len(text)+n*(len(schema)-len("{{schema}}")) {
			t.Fatalf("%q became %q", text, got)
		}
		if !strings.Contains(schema, "{{") && !strings.Contains(schema, "}}") && strings.Contains(got, "{{schema}}") {
			t.Fatalf("%q became %q", text, got)
		}
		if says := sqlfile.Says(text); strings.ContainsAny(says, "\n\t") || !strings.HasPrefix(strings.TrimSpace(text), "--") && says != "" && !strings.HasPrefix(text, "--") {
			t.Fatalf("%q says %q", text, says)
		}
	})
}
