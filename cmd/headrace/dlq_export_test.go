package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/export"
)

// An import asks, and for many letters it asks for the consumer's name. A no imports nothing.
func TestImportAsks(t *testing.T) {
	p := newProgram(t)
	p.seed("instance", "billing")
	file := filepath.Join(t.TempDir(), "letters")
	terminal := func(m *Main) { m.Terminal = func(stream any) bool { return stream == m.Stdin } }
	imports := func(want int, answer string) {
		t.Helper()
		p.stdin = answer + "\n"
		p.run(want, terminal, "dlq", "import", file, "--reason", "move")
	}
	writeLetters(t, file, 0, 2)
	imports(exitRefused, "n")
	if s := p.stderr.String(); !strings.Contains(s, "has never seen 2 keys") || !strings.Contains(s, "import 2 letters of billing? [y/N]") {
		t.Errorf("%s", s)
	}
	imports(exitDone, "y")
	writeLetters(t, file, 2, manyLetters+1)
	imports(exitRefused, "y")
	if s := p.stderr.String(); !strings.Contains(s, "import 1001 letters of billing? Type billing to go on:") {
		t.Errorf("%s", s)
	}
	p.run(exitDone, nil, "dlq", "groups", "-o", "json")
	if !strings.Contains(p.stdout.String(), `"count": 2`) {
		t.Errorf("%s", &p.stdout)
	}
	imports(exitDone, "billing")
	p.run(exitDone, nil, "dlq", "groups", "-o", "json")
	if !strings.Contains(p.stdout.String(), `"count": 1003`) {
		t.Errorf("%s", &p.stdout)
	}
	p.run(exitDone, nil, "check")
}

// writeLetters writes an export of n letters.
func writeLetters(t *testing.T, name string, first, n int) {
	t.Helper()
	err := intoFile(name, func(to io.Writer) (bool, error) {
		w, err := export.NewWriter(to, export.Header{Database: "d", Schema: 1, Consumer: "billing", By: "ann"})
		for i := first; err == nil && i < first+n; i++ {
			err = w.Letter(&export.Letter{Letter: dlq.Letter{
				LetterID: int64(i + 1), State: dlq.Open, Class: dlq.Permanent, Consumer: "billing", Handler: "orders", ErrorFingerprint: "abcd000000000000",
				Delivery: headrace.Delivery{Scope: "billing/orders", Key: fmt.Sprint(i), Fingerprint: "f", Topic: "orders", Payload: []byte("{}")},
			}})
		}
		if err == nil {
			_, err = w.End()
		}
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A file gets its name when it is whole; otherwise what was there before stays, and nothing beside it.
func TestIntoFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "letters")
	for _, tc := range []struct {
		keep bool
		err  error
		want string
	}{{true, nil, "1"}, {true, io.ErrShortWrite, "1"}, {false, nil, "1"}, {true, nil, "4"}} {
		written := tc.want
		if tc.err != nil || !tc.keep {
			written = "half"
		}
		err := intoFile(name, func(w io.Writer) (bool, error) {
			_, err := io.WriteString(w, written)
			return tc.keep, errors.Join(err, tc.err)
		})
		if !errors.Is(err, tc.err) {
			t.Errorf("%v", err)
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != tc.want {
			t.Errorf("%q, %v, want %q", got, err, tc.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	if err := intoFile(filepath.Join(dir, "nosuch", "letters"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// At a terminal an export wants a file.
func TestExportIsForPrograms(t *testing.T) {
	p := newProgram(t)
	p.run(exitUsage, func(m *Main) { m.Terminal = func(any) bool { return true } }, "dlq", "export", "--all")
	if !strings.Contains(p.stderr.String(), "it is for programs") {
		t.Errorf("%s", &p.stderr)
	}
}
