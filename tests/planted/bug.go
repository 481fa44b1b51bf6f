package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// bug is a file in the directory of bugs.
type bug struct {
	name string // of the file, without its extension
	path string
	// breaks names the rule, does says what the bug is.
	breaks, does string
	// pkg and run are what the check hands to go test.
	pkg, run string
	// red is the test that fails, by its full name, and says a text in what it prints.
	red, says string
}

// named reports whether a word of the bug's name begins with part.
func (b *bug) named(part string) bool { return strings.Contains("-"+b.name, "-"+part) }

// command is the check as a person runs it.
func (b *bug) command() string {
	return fmt.Sprintf("go test %s -run '%s'", b.pkg, b.run)
}

// bugs returns the bugs in dir, in the order of their numbers.
func bugs(dir string) ([]bug, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, fmt.Errorf("look for bugs: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no bug in %s: run this in the root of the repository", dir)
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Index(a, "-"), strings.Index(b, "-")), cmp.Compare(a, b))
	})
	list := make([]bug, len(paths))
	for i, path := range paths {
		if list[i], err = read(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return list, nil
}

// read reads the header of a bug.
func read(path string) (bug, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return bug{}, err
	}
	header, _, found := strings.Cut(string(text), "\ndiff --git ")
	if !found {
		return bug{}, errors.New("there is no diff")
	}
	b := bug{name: strings.TrimSuffix(filepath.Base(path), ".patch"), path: path}
	var check string
	fields := map[string]*string{"Breaks": &b.breaks, "Does": &b.does, "Check": &check, "Red": &b.red, "Says": &b.says}
	var last *string
	for line := range strings.Lines(header) {
		line = strings.TrimRight(line, "\n")
		name, value, ok := strings.Cut(line, ": ")
		switch field := fields[name]; {
		case strings.HasPrefix(line, "  ") && last != nil: // the line before goes on
			*last += " " + strings.TrimSpace(line)
		case strings.TrimSpace(line) == "":
		case !ok || field == nil:
			return bug{}, fmt.Errorf("no field of a header: %q", line)
		default:
			*field, last = value, field
		}
	}
	for name, field := range fields {
		if *field == "" {
			return bug{}, fmt.Errorf("the header has no %s", name)
		}
	}
	return b, b.parse(check)
}

// parse takes the check apart.
func (b *bug) parse(check string) error {
	words := strings.Fields(check)
	if len(words) != 5 || words[0] != "go" || words[1] != "test" || words[3] != "-run" {
		return fmt.Errorf("the check is not of the form go test PACKAGE -run 'TESTS': %s", check)
	}
	b.pkg, b.run = words[2], strings.Trim(words[4], "'")
	return nil
}
