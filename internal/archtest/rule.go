package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is a rule of any kind.
type Rule interface {
	// ID is the rule's name, unique among Rules.
	ID() string
	// Check returns what breaks the rule, in the order of the tree.
	Check(tree *Tree) []Violation
}

// Violation is one place that breaks a rule.
type Violation struct {
	// Rule is the name of the rule.
	Rule string
	// Where is a package or file:line.
	Where string
	// What stands there, and Why it must not.
	What, Why string
}

// String is the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s: %s (%s)", v.Where, v.Rule, v.What, v.Why)
}

// ImportRule forbids packages to import others, themselves or through packages of ours.
type ImportRule struct {
	Name string
	// Package is who may not import; Except are exceptions to it.
	Package, Except Set
	// MayNotImport is what; But are exceptions to it.
	MayNotImport, But Set
	Reason            string
}

// ID returns the rule's name.
func (r ImportRule) ID() string { return r.Name }

// Check looks for the shortest way to each forbidden import. A way that leads through another package that
// the rule is about is reported there.
func (r ImportRule) Check(tree *Tree) []Violation {
	var found []Violation
	for _, p := range tree.Packages {
		if !r.binds(p.Path) {
			continue
		}
		for _, way := range r.ways(tree, p) {
			found = append(found, Violation{r.Name, p.Path, "imports " + strings.Join(way, ", which imports "), r.Reason})
		}
	}
	return found
}

func (r ImportRule) binds(path string) bool {
	return r.Package.Has(path) && !r.Except.Has(path)
}

func (r ImportRule) ways(tree *Tree, from *Package) [][]string {
	var found [][]string
	seen := map[string]bool{from.Path: true}
	queue := [][]string{{from.Path}}
	for len(queue) > 0 {
		way := queue[0]
		queue = queue[1:]
		p := tree.Package(way[len(way)-1])
		if p == nil || len(way) > 1 && r.binds(p.Path) {
			continue
		}
		for _, path := range p.Imports() {
			if seen[path] {
				continue
			}
			seen[path] = true
			next := append(slices.Clone(way), path)
			if r.MayNotImport.Has(path) && !r.But.Has(path) {
				found = append(found, next[1:])
				continue
			}
			queue = append(queue, next)
		}
	}
	return found
}

// FileRule is about what stands in a file.
type FileRule struct {
	Name string
	// Package is whose files; Except are exceptions to it.
	Package, Except Set
	// Tests says that the rule holds for _test.go files too.
	Tests bool
	// Look returns what breaks the rule.
	Look   func(f *File) []Finding
	Reason string
}

// Finding is what a FileRule has found.
type Finding struct {
	// Where is file:line.
	Where string
	What  string
}

// ID returns the rule's name.
func (r FileRule) ID() string { return r.Name }

// Check looks at each file that the rule is about.
func (r FileRule) Check(tree *Tree) []Violation {
	var found []Violation
	for _, p := range tree.Packages {
		if !r.Package.Has(p.Path) || r.Except.Has(p.Path) {
			continue
		}
		for _, f := range p.Files {
			if f.Test && !r.Tests {
				continue
			}
			for _, finding := range r.Look(f) {
				found = append(found, Violation{r.Name, finding.Where, finding.What, r.Reason})
			}
		}
	}
	return found
}

// PackageRule is about a package as a whole.
type PackageRule struct {
	Name string
	// Look returns what is wrong with the package, or "".
	Look   func(p *Package) string
	Reason string
}

// ID returns the rule's name.
func (r PackageRule) ID() string { return r.Name }

// Check looks at each package.
func (r PackageRule) Check(tree *Tree) []Violation {
	var found []Violation
	for _, p := range tree.Packages {
		if what := r.Look(p); what != "" {
			found = append(found, Violation{r.Name, p.Path, what, r.Reason})
		}
	}
	return found
}
