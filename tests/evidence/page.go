package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/headrace/headrace/tests/pages"
)

// evidence is what shows the claims of the page.
type evidence struct {
	claims []string // in the order of the page
	tests  map[string][]shown
	bugs   []bug
}

// claim is a row of the page; its first group is the claim's name.
var claim = regexp.MustCompile("(?m)^\\| .* \\| `go run ./tests/evidence -run ([^`]*)` \\|$")

// gather reads the claims of the page and the directives of the tree at root.
func gather(root, text string) (*evidence, error) {
	e := &evidence{tests: make(map[string][]shown)}
	var problems []error
	for _, m := range claim.FindAllStringSubmatch(text, -1) {
		if slices.Contains(e.claims, m[1]) {
			problems = append(problems, fmt.Errorf("docs/reliability.md has the claim %q twice", m[1]))
			continue
		}
		e.claims = append(e.claims, m[1])
	}
	tests, err := scan(root)
	if err != nil {
		problems = append(problems, err)
	}
	for _, t := range tests {
		for _, name := range t.claims {
			if !slices.Contains(e.claims, name) {
				problems = append(problems, fmt.Errorf("%s: docs/reliability.md has no claim %q", t.at, name))
			}
			e.tests[name] = append(e.tests[name], t)
		}
	}
	for _, name := range e.claims {
		if len(e.tests[name]) == 0 {
			problems = append(problems, fmt.Errorf("no test shows the claim %q: put //evidence:%s in front of one", name, name))
		}
	}
	if e.bugs, err = readBugs(filepath.Join(root, "tests", "planted", "bugs")); err != nil {
		problems = append(problems, err)
	}
	return e, errors.Join(problems...)
}

// write returns the page with the table as it should be.
func (e *evidence) write(text string) (string, error) {
	var b strings.Builder
	b.WriteString("| claim | tests | planted bugs |\n|---|---|---|\n")
	for _, name := range e.claims {
		var names, bugs []string
		for _, t := range e.tests[name] {
			names = append(names, "`"+t.name+"`")
			for i := range e.bugs {
				if t.finds(&e.bugs[i]) {
					bugs = append(bugs, e.bugs[i].number)
				}
			}
		}
		slices.Sort(names)
		slices.Sort(bugs)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, strings.Join(names, ", "), strings.Join(slices.Compact(bugs), ", "))
	}
	text, err := pages.Replace(text, "evidence", b.String())
	if err != nil {
		return "", fmt.Errorf("docs/reliability.md: %w", err)
	}
	return text, nil
}

// bug is a planted bug.
type bug struct {
	number string
	pkg    string // ./consumer
	red    string // TestX/a_title
}

var (
	bugCheck = regexp.MustCompile(`(?m)^Check: go test (\S+) `)
	bugRed   = regexp.MustCompile(`(?m)^Red: (\S+)$`)
)

// readBugs reads the headers of the planted bugs.
func readBugs(dir string) ([]bug, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, fmt.Errorf("look for planted bugs: %w", err)
	}
	var list []bug
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a planted bug: %w", err)
		}
		check, red := bugCheck.FindSubmatch(text), bugRed.FindSubmatch(text)
		number, _, ok := strings.Cut(filepath.Base(path), "-")
		if check == nil || red == nil || !ok {
			return nil, fmt.Errorf("%s has no number, Check or Red", path)
		}
		list = append(list, bug{number: number, pkg: string(check[1]), red: string(red[1])})
	}
	return list, nil
}
