//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/unprivileged"
)

// Who may only read the file, or asks for no more with the DSN, has all commands that only read, while a
// process works with the file and while none does.
func TestReadOnlyFile(t *testing.T) {
	for name, live := range map[string]bool{"live": true, "cold": false} {
		t.Run(name, func(t *testing.T) {
			dir := unprivileged.Dir(t)
			path := filepath.Join(dir, "shop.db")
			p := &program{T: t, dsn: "sqlite:" + path, stdin: "k1\nk9\n"}
			p.run(exitDone, nil, "migrate", "up")
			for _, s := range [][2]string{
				{"dead", "3"}, {"parked", "2"}, {"retried", "again"}, {"schedule", "nightly"}, {"alerts", "billing"}, {"answered", "answered"}, {"steps", "s1"}, {"instance", "billing"},
			} {
				p.seed(s[0], s[1])
			}
			planned(p, "")
			before := p.dump()
			if live {
				st, err := New().open(t.Context(), database{sqlite: path}, "", false)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = st.Close() }()
			}
			files, err := filepath.Glob(path + "*")
			for _, f := range files {
				err = errors.Join(err, os.Chmod(f, 0o644))
			}
			if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
				t.Fatal(err)
			}
			unprivileged.Run(t, func() { p.readsAll() })
			p.dsn += forReading
			p.readsAll()
			p.dsn = strings.TrimSuffix(p.dsn, forReading)
			if after := p.dump(); after != before {
				t.Errorf("it writes:\n%s", differs(before, after))
			}
		})
	}
}

// readsAll runs all commands that read, and some that write and are refused.
func (p *program) readsAll() {
	for _, run := range slices.Concat(jsonRuns, redriveRuns) {
		if run.command != "check" && run.command != "dlq export" && !slices.Contains(reads, run.command) {
			continue
		}
		if run.command == "redrive watch" { // it waits for the end
			continue
		}
		if got := p.status(append(strings.Fields(run.command), strings.Fields(run.args)...)); got != run.status {
			p.Errorf("%s exits with %d, want %d: %s", run.command, got, run.status, &p.stderr)
		}
	}
	for _, line := range []string{"consumer pause billing", "consumer pause billing --dry-run", "dlq mute a276", "dlq mute a276 --dry-run", "check --repair counters", "migrate up"} {
		if got := p.status(strings.Fields(line)); got != exitNotPermitted {
			p.Errorf("%s exits with %d: %s", line, got, &p.stderr)
		}
	}
}
