package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// The table of docs/reliability.md is what the directives say.
func TestThePageIsCurrent(t *testing.T) {
	if err := run(t.Context(), root, []string{"-check"}, &bytes.Buffer{}); err != nil {
		t.Error(err)
	}
}

const (
	begin   = "<!-- evidence: begin -->\n"
	end     = "<!-- evidence: end -->"
	onePage = "| Once. | `go run ./tests/evidence -run once` |\n" + begin + end + "\n"
	oneTest = "package a\n\n// Doc.\n//\n//evidence:once\nfunc TestOnce(t *testing.T) {}\n"
)

// tree writes files into a directory of the test's own.
func tree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// The table is written, and is current until a test or a planted bug changes.
func TestTableFollowsTheTests(t *testing.T) {
	root := tree(t, map[string]string{"docs/reliability.md": onePage, "a/b/a_test.go": oneTest,
		"tests/planted/bugs/07-x.patch": "Check: go test ./a/b -run '^TestOnce$/^sqlite$'\nRed: TestOnce/sqlite\n"})
	check := func() error { return run(t.Context(), root, []string{"-check"}, &bytes.Buffer{}) }
	if check() == nil {
		t.Error("an empty table is current")
	}
	if err := run(t.Context(), root, nil, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if want := "\n| `once` | `a/b.TestOnce` | 07 |\n" + end + "\n"; err != nil || !strings.HasSuffix(string(text), want) {
		t.Errorf("%v, the page is\n%swant at its end\n%s", err, text, want)
	}
	if err := check(); err != nil {
		t.Errorf("what was just written: %v", err)
	}
	renamed := filepath.Join(root, "a", "b", "a_test.go")
	if err := os.WriteFile(renamed, []byte(strings.ReplaceAll(oneTest, "TestOnce", "TestTwice")), 0o644); err != nil {
		t.Fatal(err)
	}
	if check() == nil {
		t.Error("the page is current with a test that is not there")
	}
}

// What is wrong is said, and where.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		page, file, text string
		want             string
	}{
		"no test":       {onePage, "a/a_test.go", "package a\n", `no test shows the claim "once"`},
		"no claim":      {begin + end, "a/a_test.go", oneTest, `a/a_test.go:5: docs/reliability.md has no claim "once"`},
		"twice":         {onePage + onePage, "a/a_test.go", oneTest, "twice"},
		"no table":      {strings.ReplaceAll(onePage, end, ""), "a/a_test.go", oneTest, "has no lines"},
		"a helper":      {onePage, "a/a_test.go", strings.ReplaceAll(oneTest, "TestOnce", "testOnce"), "testOnce is no test"},
		"not in a test": {onePage, "a/a.go", oneTest, "TestOnce is no test"},
		"no function":   {onePage, "a/a_test.go", "package a\n\n//evidence:once\nvar x int\n", "in front of no function"},
		"no title":      {onePage, "store/storetest/a.go", strings.ReplaceAll(oneTest, "TestOnce", "once"), "no table of the suite has once"},
	} {
		root := tree(t, map[string]string{"docs/reliability.md": c.page, c.file: c.text})
		if err := run(t.Context(), root, nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// The tests of a claim are run by one go test, those of a suite by their titles.
func TestGoTest(t *testing.T) {
	root := tree(t, map[string]string{"a/a_test.go": oneTest,
		"store/storetest/a.go":      "package s\n\nvar tests = []test{{name: \"it's (one) way\", run: once}}\n\n//evidence:once\nfunc once() {}\n",
		"broker/brokertest/main.go": "package s\n\nvar tests = []test{{\"two ways\", nil, twice}}\n\n//evidence:twice once\nfunc twice() {}\n"})
	e, err := gather(root, onePage+strings.ReplaceAll(onePage, "once", "twice"))
	if err != nil {
		t.Fatal(err)
	}
	packages, pattern, err := e.goTest([]string{"once"})
	if err != nil || len(packages) != 9 || packages[0] != "./a" {
		t.Errorf("%v, %v", packages, err)
	}
	if want := `^(TestConformanceOpen|TestConformancePGX|TestStore)$//^it's_\(one\)_way$|^TestConformance[A-Za-z]*$/^two_ways$|^TestOnce$`; pattern != want {
		t.Errorf("got  %s\nwant %s", pattern, want)
	}
	if _, _, err := e.goTest([]string{"thrice"}); err == nil {
		t.Error("a claim that is not there is run")
	}
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// The packages that run the suites have the tests that do.
func TestSuites(t *testing.T) {
	for name, s := range suites {
		for _, pkg := range s.packages {
			paths, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, path := range paths {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range testFunc.FindAllSubmatch(text, -1) {
					found = found || regexp.MustCompile(s.tests).Match(m[1])
				}
			}
			if !found {
				t.Errorf("%s has no test %s, which would run those of %s", pkg, s.tests, name)
			}
		}
	}
}

func TestFlags(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), root, []string{"-h"}, &out); err != nil || !strings.Contains(out.String(), "-check") || !strings.Contains(out.String(), "-run claims") {
		t.Errorf("-h: %v, %s", err, out.String())
	}
	if err := run(t.Context(), root, []string{"once"}, &out); err == nil {
		t.Error("an argument is no error")
	}
	if err := run(t.Context(), t.TempDir(), nil, &out); err == nil || !strings.Contains(err.Error(), "root of the repository") {
		t.Errorf("elsewhere: %v", err)
	}
}
