package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// named is a test in docs/reliability.md: its folder, "" for the root, and its name.
	named = regexp.MustCompile("`([a-z/]*)\\.((?:Test|Fuzz|Example)[A-Za-z_]*)`")
	// titled is a test of the suite that all stores run.
	titled = regexp.MustCompile("`store/storetest: ([^`]+)`")
	// staged is a scenario of the suite that all adapters pass.
	staged = regexp.MustCompile("`broker/brokertest: ([^`]+)`")
	// numbered is a reference to a bug by its number.
	numbered = regexp.MustCompile(`\*\*(\d\d)\*\*`)
)

// Each test that docs/reliability.md and its part about adapters name is there, and so is
// each planted bug.
func TestTheDocumentNamesWhatIsThere(t *testing.T) {
	document := source(t, filepath.Join(root, "docs", "reliability*.md"))
	tests := named.FindAllStringSubmatch(document, -1)
	titles := titled.FindAllStringSubmatch(document, -1)
	numbers := numbered.FindAllStringSubmatch(document, -1)
	if len(tests) < 100 || len(titles) < 30 || len(numbers) < 50 {
		t.Fatalf("only %d tests, %d titles and %d bugs are named: does the document still write them in this way?", len(tests), len(titles), len(numbers))
	}
	sources := make(map[string]string)
	in := func(folder, pattern string) string {
		if _, read := sources[folder]; !read {
			sources[folder] = source(t, filepath.Join(root, folder, pattern))
		}
		return sources[folder]
	}
	for _, name := range tests {
		if !strings.Contains(in(name[1], "*_test.go"), "func "+name[2]+"(") {
			t.Errorf("./%s has no %s", name[1], name[2])
		}
	}
	for _, title := range titles {
		if !strings.Contains(in("store/storetest", "*.go"), `name: "`+title[1]+`"`) {
			t.Errorf("the suite of the stores has no test called %q", title[1])
		}
	}
	scenarios := staged.FindAllStringSubmatch(document, -1)
	if len(scenarios) < 10 {
		t.Errorf("only %d scenarios of adapters are named", len(scenarios))
	}
	for _, scenario := range scenarios {
		if !strings.Contains(in("broker/brokertest", "scenarios.go"), `{"`+scenario[1]+`",`) {
			t.Errorf("the suite of the adapters has no scenario called %q", scenario[1])
		}
	}
	list := all(t)
	for _, number := range numbers {
		found := false
		for i := range list {
			found = found || strings.HasPrefix(list[i].name, number[1]+"-")
		}
		if !found {
			t.Errorf("there is no bug %s", number[1])
		}
	}
}

// source is the text of all files of a pattern.
func source(t *testing.T, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
