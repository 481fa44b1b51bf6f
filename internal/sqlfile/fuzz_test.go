package sqlfile_test

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/sqlfile"
)

// FuzzNames: what the user calls a schema is put in as it is, and never read as a token.
func FuzzNames(f *testing.F) {
	f.Add("SELECT {{now}} FROM {{schema}}.t", `"{{now}}"`, "clock()")
	f.Add("{{now}}{{schema}}", "main", "{{schema}}")
	f.Add("{{{now}}}", "main", "now()")
	f.Fuzz(func(t *testing.T, text, schema, now string) {
		got, err := sqlfile.Names{Schema: schema, Parts: map[string]string{"now": now}}.Substitute(text)
		if err != nil || now == "" {
			return
		}
		schemas, times := strings.Count(text, "{{schema}}"), strings.Count(text, "{{now}}")
		if want := len(text) + schemas*(len(schema)-len("{{schema}}")) + times*(len(now)-len("{{now}}")); len(got) != want {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// FuzzSubstitute: either no token is left, or the file is refused; what a statement says
// is its comment and no more.
func FuzzSubstitute(f *testing.F) {
	for _, s := range []string{"", "SELECT {{schema}}.t", "{{schema}}{{schema}}", "{{ schema }}", "{{{schema}}}", "}}{{", "-- a\n--b\nSELECT 1 -- c"} {
		f.Add(s, `"public"`)
		f.Add(s, `"{{schema}}"`)
	}
	f.Fuzz(func(t *testing.T, text, schema string) {
		got, err := sqlfile.Names{Schema: schema}.Substitute(text)
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
