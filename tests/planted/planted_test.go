package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository.
const root = "../.."

func all(t *testing.T) []bug {
	t.Helper()
	list, err := bugs("bugs")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Each bug can still be planted, compiles, and can be taken out again; make planted shows more.
func TestBugsCanBePlanted(t *testing.T) {
	copied, err := copyTree(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := copied.remove(); err != nil {
			t.Error(err)
		}
	})
	types := newChecker(t)
	for _, b := range all(t) {
		takeOut, err := copied.plant(t.Context(), &b)
		if err != nil {
			t.Errorf("%s: the code that it changes is not there any more: plant it anew: %v", b.name, err)
			continue
		}
		if err := types.check(t.Context(), copied.dir, b.path); err != nil {
			t.Errorf("%s: what it changes does not compile: plant it anew: %v", b.name, err)
		}
		if err := takeOut(); err != nil {
			t.Fatalf("%s: %v", b.name, err)
		}
	}
}

// Each rule of steps in docs/design.md has a bug that breaks it.
func TestRulesOfStepsHaveBugs(t *testing.T) {
	design, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rules, _ := strings.Cut(string(design), "\n**Rules of steps.**")
	_, rules, _ = strings.Cut(rules, "\n\n")
	rules, _, _ = strings.Cut(rules, "\n\n")
	list := all(t)
	for i, rule := range strings.Split(rules, "\n") {
		breaks := fmt.Sprintf("Rule %d of steps: ", i+1)
		if !strings.HasPrefix(rule, fmt.Sprint(i+1, ". ")) || !slices.ContainsFunc(list, func(b bug) bool { return strings.HasPrefix(b.breaks, breaks) }) {
			t.Errorf("no bug breaks %s%s", breaks, rule)
		}
	}
}

// Every check names a test that is there, in a package of ours.
func TestChecksAreThere(t *testing.T) {
	for _, b := range all(t) {
		name, _, _ := strings.Cut(b.red, "/")
		files, err := filepath.Glob(filepath.Join(root, b.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(text, []byte("func "+name+"(t *testing.T)"))
		}
		if !found {
			t.Errorf("%s: %s has no %s", b.name, b.pkg, name)
		}
	}
}

// What counts as found, and what does not.
func TestFound(t *testing.T) {
	b := bug{red: "TestX/a", says: "2 effects"}
	const failed = "    x_test.go:1: 2 effects\n--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/a (0.00s)\n"
	if err := b.found(failed); err != nil {
		t.Errorf("a check that is red: %v", err)
	}
	for name, output := range map[string]string{
		"no server":      "    x_test.go:1: no PostgreSQL\n--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/a (0.00s)\n",
		"another one":    "    x_test.go:1: 2 effects\n--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/ab (0.00s)\n",
		"nothing":        "testing: warning: no tests to run\nPASS\n",
		"a hanging test": "panic: test timed out after 3m0s\n",
	} {
		if err := b.found(output); err == nil {
			t.Errorf("%s counts as found", name)
		}
	}
	passed := "--- PASS: TestX (0.00s)\n    --- PASS: TestX/a (0.00s)\n"
	if err := b.found(passed); !errors.Is(err, errHarmless) {
		t.Errorf("a check that stays green: %v", err)
	}
	if err := b.green(passed); err != nil {
		t.Errorf("without the bug: %v", err)
	}
	for _, output := range []string{failed, "PASS\n", strings.ReplaceAll(passed, "PASS", "SKIP")} {
		if err := b.green(output); err == nil {
			t.Errorf("counts as green: %s", output)
		}
	}
}

// The flags, and what is said where there is no server.
func TestFlags(t *testing.T) {
	t.Chdir(root)
	t.Setenv(server, "")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-list", "-only", "01-,09-"}, &out); err != nil || strings.Count(out.String(), "go test ") != 2 {
		t.Errorf("-list: %v, %s", err, out.String())
	}
	if err := run(t.Context(), []string{"-only", "no such bug"}, &out); err == nil {
		t.Error("an unknown name is no error")
	}
	if err := run(t.Context(), nil, &out); err == nil || !strings.Contains(err.Error(), "make planted") {
		t.Errorf("without a server: %v", err)
	}
}

// A run that is interrupted leaves no copy behind.
func TestInterruptedRunCleansUp(t *testing.T) {
	t.Chdir(root)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := session{out: &bytes.Buffer{}, bugs: []bug{{name: "x"}}}
	if err := s.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("run: %v", err)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The parts have each bug once.
func TestShare(t *testing.T) {
	all := []bug{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}}
	var names []string
	for _, part := range []string{"1/3", "2/3", "3/3"} {
		chosen, err := share(all, part)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range chosen {
			names = append(names, b.name)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"a", "b", "c", "d"}) {
		t.Errorf("%q", names)
	}
	for _, part := range []string{"0/3", "4/3", "1", "x/y"} {
		if _, err := share(all, part); err == nil {
			t.Errorf("%q is taken", part)
		}
	}
}
