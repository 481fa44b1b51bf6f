package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../"

// forContributors are the pages that users need not read.
var forContributors = []string{"design.md", "invariants.md", "traps.md", "reliability.md", "costs.md"}

// pages are the pages for users by name, README.md first.
func pages(t *testing.T) (names []string, texts map[string]string) {
	t.Helper()
	found, err := filepath.Glob(root + "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	names, texts = []string{"README.md"}, make(map[string]string)
	for _, path := range found {
		name := filepath.Base(path)
		if !slices.Contains(forContributors, name) {
			names = append(names, "docs/"+name)
		}
	}
	for _, name := range names {
		texts[name] = read(t, name)
	}
	return names, texts
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The pages for users stay short enough to be read.
func TestPagesAreShort(t *testing.T) {
	const docs, readme = 110_000, 8_000
	names, texts := pages(t)
	all := 0
	for _, name := range names[1:] {
		all += len(texts[name])
	}
	if all > docs {
		t.Errorf("the pages in docs have %d bytes, more than %d", all, docs)
	}
	if n := len(texts[names[0]]); n > readme {
		t.Errorf("%s has %d bytes, more than %d", names[0], n, readme)
	}
}

// Pages for users name no test: tests are evidence, and stand in docs/reliability.md.
func TestPagesNameNoTest(t *testing.T) {
	names, texts := pages(t)
	for _, name := range names {
		shown := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(texts[name], "")
		if found := regexp.MustCompile(`\bTest[A-Z]\w+`).FindString(shown); found != "" {
			t.Errorf("%s names %s", name, found)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.*)$`)
)

// Every link to a file of this repository leads to a file, and to a heading of it.
func TestLinks(t *testing.T) {
	all, err := filepath.Glob(root + "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob(root + "examples/*/README.md")
	if err != nil || len(examples) == 0 {
		t.Fatal("no page of an example is found: ", err)
	}
	for _, path := range append(append(all, examples...), root+"README.md", root+"CONTRIBUTING.md", root+"CHANGELOG.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			linked, err := os.ReadFile(to)
			if info, e := os.Stat(to); e == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
			} else if anchor != "" && !anchors(string(linked))[anchor] {
				t.Errorf("%s links to %s: there is no such heading", path, m[1])
			}
		}
	}
}

// anchors are the fragments that headings of a page have.
func anchors(text string) map[string]bool {
	found := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		s := strings.ToLower(m[1])
		s = regexp.MustCompile(`[^\p{L}\p{N}\- _]`).ReplaceAllString(s, "")
		found[strings.ReplaceAll(s, " ", "-")] = true
	}
	return found
}
