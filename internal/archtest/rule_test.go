package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Rule forbids packages to import others, or judges each file or each package.
type Rule struct {
	// Name is unique among Rules.
	Name string
	// Package is whom the rule is about; Except are exceptions to it.
	Package, Except Set
	// MayNotImport is what these packages may not import, themselves or through packages
	// of ours; But are exceptions to it.
	MayNotImport, But Set
	// File returns what breaks the rule in a file; Tests says that _test.go files count too.
	File  func(f *File) []Finding
	Tests bool
	// Whole returns what breaks the rule in a package.
	Whole func(p *Package) []Finding
	// Reason says why the rule exists.
	Reason string
}

// Finding is what breaks a rule. Where is file:line or a package.
type Finding struct {
	Where, What string
}

// Violation is a Finding with the rule that it breaks, and why the rule exists.
type Violation struct {
	Rule string
	Finding
	Why string
}

// String is the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s: %s (%s)", v.Where, v.Rule, v.What, v.Why)
}

// Check returns what breaks the rule, in the order of the tree.
func (r Rule) Check(tree *Tree) []Violation {
	var found []Violation
	add := func(all []Finding) {
		for _, f := range all {
			found = append(found, Violation{r.Name, f, r.Reason})
		}
	}
	for _, p := range tree.Packages {
		if !r.binds(p.Path) {
			continue
		}
		add(r.imports(tree, p))
		if r.Whole != nil {
			add(r.Whole(p))
		}
		for _, f := range p.Files {
			if r.File != nil && (r.Tests || !f.Test) {
				add(r.File(f))
			}
		}
	}
	return found
}

func (r Rule) binds(path string) bool {
	return r.Package.Has(path) && !r.Except.Has(path)
}

// imports finds the shortest path to each forbidden import. A path that leads through
// another package that the rule is about is reported there.
func (r Rule) imports(tree *Tree, from *Package) []Finding {
	var found []Finding
	seen := map[string]bool{from.Path: true}
	for queue := [][]string{{from.Path}}; len(queue) > 0; queue = queue[1:] {
		chain := queue[0]
		p := tree.Package(chain[len(chain)-1])
		if p == nil || len(chain) > 1 && r.binds(p.Path) {
			continue
		}
		for _, path := range p.Imports() {
			if seen[path] {
				continue
			}
			seen[path] = true
			next := append(slices.Clone(chain), path)
			if r.MayNotImport.Has(path) && !r.But.Has(path) {
				found = append(found, Finding{from.Path, "imports " + strings.Join(next[1:], ", which imports ")})
				continue
			}
			queue = append(queue, next)
		}
	}
	return found
}

// Unknown returns the names in the sets of the rules, and in Placed, that name no package
// of the tree.
func Unknown(tree *Tree, rules []Rule, placed Set) []Violation {
	sets := placed
	for _, r := range rules {
		sets = union(sets, r.Package, r.Except, r.MayNotImport, r.But)
	}
	slices.Sort(sets)
	var found []Violation
	for _, name := range slices.Compact(sets) {
		named := func(p *Package) bool { return matches(name, p.Path) }
		if strings.HasPrefix(name, ".") && !slices.ContainsFunc(tree.Packages, named) {
			found = append(found, Violation{"sets name packages", Finding{name, "names no package"}, "a rule about it holds for nothing"})
		}
	}
	return found
}
