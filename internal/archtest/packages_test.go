package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

func (p *Package) finding(format string, args ...any) []Finding {
	return []Finding{{p.Path, fmt.Sprintf(format, args...)}}
}

func unplaced(p *Package) []Finding {
	if Placed.Has(p.Path) {
		return nil
	}
	return p.finding("stands in no layer")
}

func undocumented(p *Package) []Finding {
	for _, f := range p.Files {
		if path.Base(f.Name) != "doc.go" {
			continue
		}
		// Text leaves out directives such as //go:build.
		name, text := f.AST.Name.Name, f.AST.Doc.Text()
		if text == "" || name != "main" && !strings.HasPrefix(text, "Package "+name+" ") {
			return p.finding("has a doc.go without a comment that begins with Package %s", name)
		}
		return nil
	}
	return p.finding("has no doc.go")
}

func largePackage(p *Package) []Finding {
	lines := 0
	for _, f := range p.Files {
		if !f.Test && !ast.IsGenerated(f.AST) {
			lines += f.Lines
		}
	}
	if lines <= maxPackage {
		return nil
	}
	return p.finding("has %d lines, over %d", lines, maxPackage)
}

// largeTypes counts a type's methods over all files but tests. The same method under two build
// tags is one.
func largeTypes(p *Package) []Finding {
	methods := map[string]map[string]bool{}
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			method, ok := decl.(*ast.FuncDecl)
			if !ok || method.Recv == nil || f.Test {
				continue
			}
			name := receiver(method)
			if methods[name] == nil {
				methods[name] = map[string]bool{}
			}
			methods[name][method.Name.Name] = true
		}
	}
	var found []Finding
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if n := len(methods[name]); n > maxType {
			found = append(found, p.finding("%s has %d methods, over %d", name, n, maxType)...)
		}
	}
	return found
}
