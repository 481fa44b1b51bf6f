package archtest

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// The limits, in lines and methods.
const (
	maxFile      = 400
	maxTestFile  = 600
	maxFunction  = 60
	maxInterface = 8
)

func longFile(f *File) []Finding {
	limit := maxFile
	if f.Test {
		limit = maxTestFile
	}
	if f.Lines <= limit || ast.IsGenerated(f.AST) {
		return nil
	}
	return []Finding{{f.Name, fmt.Sprintf("has %d lines, over %d", f.Lines, limit)}}
}

func longFunctions(f *File) []Finding {
	if ast.IsGenerated(f.AST) {
		return nil
	}
	var found []Finding
	add := func(n ast.Node, name string) {
		if strings.HasPrefix(name, "Example") && strings.HasSuffix(f.Name, "_test.go") {
			return // shown whole in the documentation, and worth nothing in parts
		}
		if lines := f.line(n.End()) - f.line(n.Pos()) + 1; lines > maxFunction {
			found = append(found, Finding{f.at(n.Pos()), fmt.Sprintf("%s has %d lines, over %d", name, lines, maxFunction)})
		}
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n, n.Name.Name) // from the func keyword: the comment above does not count
			return false
		case *ast.FuncLit:
			add(n, "a function")
			return false
		}
		return true
	})
	return found
}

// wideInterfaces counts the methods of embedded interfaces too. An interface that only names others together,
// as io.ReadWriter does, counts as many as it names: each of them is small, and a user can ask for one.
func wideInterfaces(f *File) []Finding {
	var found []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		spec, ok := n.(*ast.InterfaceType)
		if !ok {
			return true
		}
		count := len(spec.Methods.List)
		if declares(spec) {
			methods := map[string]bool{}
			f.methods(spec, methods, map[*ast.InterfaceType]bool{})
			count = len(methods)
		}
		if count > maxInterface {
			found = append(found, Finding{f.at(n.Pos()), fmt.Sprintf("an interface of %d methods, over %d", count, maxInterface)})
		}
		return true
	})
	return found
}

// declares reports whether the interface has a method of its own.
func declares(spec *ast.InterfaceType) bool {
	return slices.ContainsFunc(spec.Methods.List, func(field *ast.Field) bool { return len(field.Names) > 0 })
}

// methods collects the names of the interface's methods, those of embedded interfaces of ours included. A
// foreign interface counts as one.
func (f *File) methods(spec *ast.InterfaceType, names map[string]bool, seen map[*ast.InterfaceType]bool) {
	if seen[spec] {
		return
	}
	seen[spec] = true
	for _, field := range spec.Methods.List {
		for _, name := range field.Names {
			names[name.Name] = true
		}
		if len(field.Names) > 0 || isConstraint(field.Type) {
			continue
		}
		if from, embedded := f.embedded(field.Type); embedded != nil {
			from.methods(embedded, names, seen)
		} else {
			names[types.ExprString(field.Type)] = true
		}
	}
}

func isConstraint(expr ast.Expr) bool {
	switch expr.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr:
		return true
	}
	return false
}

// embedded finds the declaration of an embedded interface of ours, and the file it stands in.
func (f *File) embedded(expr ast.Expr) (*File, *ast.InterfaceType) {
	switch expr := expr.(type) {
	case *ast.InterfaceType:
		return f, expr
	case *ast.Ident:
		return f.pkg.declared(expr.Name)
	case *ast.IndexExpr:
		return f.embedded(expr.X)
	case *ast.IndexListExpr:
		return f.embedded(expr.X)
	case *ast.SelectorExpr:
		if p := f.packageNamed(expr.X); p != nil {
			return p.declared(expr.Sel.Name)
		}
	}
	return nil, nil
}

// packageNamed returns the package of ours that the file calls by the name x, or nil.
func (f *File) packageNamed(x ast.Expr) *Package {
	id, ok := x.(*ast.Ident)
	if !ok {
		return nil
	}
	for _, spec := range f.AST.Imports {
		p := f.tree.Package(f.imported(spec))
		if p == nil {
			continue
		}
		name := strings.TrimSuffix(p.Files[0].AST.Name.Name, "_test")
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == id.Name {
			return p
		}
	}
	return nil
}

func (p *Package) declared(name string) (*File, *ast.InterfaceType) {
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok || t.Name.Name != name {
					continue
				}
				if i, ok := t.Type.(*ast.InterfaceType); ok {
					return f, i
				}
			}
		}
	}
	return nil, nil
}
