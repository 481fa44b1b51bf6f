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
	maxType      = 25
	maxPackage   = 1500
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

// wideInterfaces counts the methods of interfaces of the same package that are embedded; one
// of another package counts as one. An interface that only names others together, as
// io.ReadWriter does, counts as many as it names.
func wideInterfaces(f *File) []Finding {
	var found []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		spec, ok := n.(*ast.InterfaceType)
		if !ok {
			return true
		}
		count := len(spec.Methods.List)
		if slices.ContainsFunc(spec.Methods.List, func(field *ast.Field) bool { return len(field.Names) > 0 }) {
			methods := map[string]bool{}
			f.pkg.methods(spec, methods)
			count = len(methods)
		}
		if count > maxInterface {
			found = append(found, Finding{f.at(n.Pos()), fmt.Sprintf("an interface of %d methods, over %d", count, maxInterface)})
		}
		return true
	})
	return found
}

// methods adds the names of the interface's methods, and what it embeds, to names.
func (p *Package) methods(spec *ast.InterfaceType, names map[string]bool) {
	for _, field := range spec.Methods.List {
		for _, name := range field.Names {
			names[name.Name] = true
		}
		embedded := types.ExprString(field.Type)
		if len(field.Names) > 0 || names[embedded] {
			continue
		}
		names[embedded] = true // so that one that embeds itself ends
		if inner := p.declared(embedded); inner != nil {
			p.methods(inner, names)
			delete(names, embedded)
		}
	}
}

// declared returns the interface of this package of that name, or nil.
func (p *Package) declared(name string) (found *ast.InterfaceType) {
	for _, f := range p.Files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok && t.Name.Name == name {
				found, _ = t.Type.(*ast.InterfaceType)
			}
			return found == nil
		})
	}
	return found
}
