package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Tree is the parsed source of one module.
type Tree struct {
	// Module is the module's import path.
	Module string
	// Packages are in order of their path.
	Packages []*Package
	fset     *token.FileSet
}

// Package is a directory with Go files in it.
type Package struct {
	// Path is "." for the root, else "./" and the directory.
	Path  string
	Files []*File
}

// File is one Go file, whatever its build tags.
type File struct {
	// Name is the path in the module.
	Name string
	// Test is true for _test.go files.
	Test bool
	// Lines is how many lines the file has.
	Lines int
	AST   *ast.File
	tree  *Tree
	pkg   *Package
}

// Load parses every Go file of fsys that the go command would look at: not under testdata or vendor, not
// behind a leading "." or "_", not in a module within the module.
func Load(fsys fs.FS, module string) (*Tree, error) {
	tree := &Tree{Module: module, fset: token.NewFileSet()}
	packages := map[string]*Package{}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && skipped(fsys, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || hidden(name):
			return nil
		}
		dir := path.Dir(name)
		if packages[dir] == nil {
			packages[dir] = &Package{Path: ourPath(dir)}
		}
		return tree.add(fsys, packages[dir], name)
	})
	if err != nil {
		return nil, fmt.Errorf("load the tree: %w", err)
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		tree.Packages = append(tree.Packages, packages[dir])
	}
	return tree, nil
}

func (t *Tree) add(fsys fs.FS, p *Package, name string) error {
	source, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(t.fset, name, source, parser.ParseComments)
	if err != nil {
		return err
	}
	p.Files = append(p.Files, &File{
		Name: name, Test: strings.HasSuffix(name, "_test.go"), Lines: strings.Count(string(source), "\n"),
		AST: parsed, tree: t, pkg: p,
	})
	return nil
}

func skipped(fsys fs.FS, dir string) bool {
	base := path.Base(dir)
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return base == "testdata" || base == "vendor" || hidden(dir) || err == nil
}

func hidden(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

func ourPath(dir string) string {
	if dir == "." {
		return "."
	}
	return "./" + dir
}

// Package returns the package of ours at path, or nil.
func (t *Tree) Package(path string) *Package {
	for _, p := range t.Packages {
		if p.Path == path {
			return p
		}
	}
	return nil
}

// Imports lists what the package's non-test files import, sorted.
func (p *Package) Imports() []string {
	seen := map[string]bool{}
	for _, f := range p.Files {
		if !f.Test {
			for _, spec := range f.AST.Imports {
				seen[f.imported(spec)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// imported returns what spec imports, in the terms of a Set.
func (f *File) imported(spec *ast.ImportSpec) string {
	full, _ := strconv.Unquote(spec.Path.Value)
	if full == f.tree.Module {
		return "."
	}
	if below, ok := strings.CutPrefix(full, f.tree.Module+"/"); ok {
		return "./" + below
	}
	return full
}

// at writes a position as file:line.
func (f *File) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.Name, f.line(pos))
}

func (f *File) line(pos token.Pos) int {
	return f.tree.fset.Position(pos).Line
}
