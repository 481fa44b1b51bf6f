package main

import (
	"strings"
	"testing"
)

// Long output on a terminal goes through PAGER, and no other.
func TestPager(t *testing.T) {
	p := newProgram(t)
	p.seed("dead", "60")
	for _, c := range []struct {
		args            string
		terminal, paged bool
	}{
		{"dlq ls", true, true}, {"dlq ls --limit 3", true, false}, {"dlq ls", false, false}, {"dlq ls -o ndjson", true, false},
	} {
		p.run(exitDone, func(m *Main) {
			m.NoPager, m.Terminal = false, func(any) bool { return c.terminal }
			m.Getenv = func(name string) string {
				return map[string]string{"HEADRACE_DSN": p.dsn, "PAGER": "sed 's/^/paged: /'"}[name]
			}
		}, strings.Fields(c.args)...)
		if paged := strings.HasPrefix(p.stdout.String(), "paged: "); paged != c.paged || !strings.Contains(p.stdout.String(), "orders.paid") {
			t.Errorf("%s on a terminal %v: %s", c.args, c.terminal, &p.stdout)
		}
	}
}
