package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// unexplained finds exported names that no comment speaks of. Those of internal packages and of programs are
// left out: users do not look them up. A field or an interface's method may be named in the comment of its type or of another
// field instead of having one of its own; a constant or a variable is covered by the comment of its group.
func unexplained(f *File) []Finding {
	if f.AST.Name.Name == "main" || strings.Contains(f.pkg.Path+"/", "/internal/") || ast.IsGenerated(f.AST) {
		return nil
	}
	var found []Finding
	report := func(pos token.Pos, name string) {
		if ast.IsExported(name) {
			found = append(found, Finding{f.at(pos), name + " has no comment"})
		}
	}
	for _, decl := range f.AST.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Doc == nil && ast.IsExported(receiver(decl)) {
				report(decl.Pos(), decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				unexplainedSpec(decl, spec, report)
			}
		}
	}
	return found
}

// receiver returns the name of the method's type, or that of a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch inner := t.(type) {
		case *ast.StarExpr:
			t = inner.X
		case *ast.IndexExpr:
			t = inner.X
		case *ast.IndexListExpr:
			t = inner.X
		case *ast.Ident:
			return inner.Name
		default:
			return ""
		}
	}
}

func unexplainedSpec(decl *ast.GenDecl, spec ast.Spec, report func(token.Pos, string)) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		if decl.Doc == nil && spec.Doc == nil && spec.Comment == nil {
			for _, name := range spec.Names {
				report(name.Pos(), name.Name)
			}
		}
	case *ast.TypeSpec:
		doc := decl.Doc.Text() + spec.Doc.Text()
		if doc == "" {
			report(spec.Pos(), spec.Name.Name)
		}
		if !spec.Name.IsExported() {
			return
		}
		switch t := spec.Type.(type) {
		case *ast.StructType:
			unexplainedFields(spec.Name.Name, doc, t.Fields, report)
		case *ast.InterfaceType:
			unexplainedFields(spec.Name.Name, doc, t.Methods, report)
		}
	}
}

func unexplainedFields(in, doc string, fields *ast.FieldList, report func(token.Pos, string)) {
	said := map[string]bool{}
	note := func(text string) {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !isLetter(r) }) {
			said[word] = true
		}
	}
	note(doc)
	for _, field := range fields.List {
		note(field.Doc.Text())
		note(field.Comment.Text())
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			if field.Doc == nil && field.Comment == nil && ast.IsExported(name.Name) && !said[name.Name] {
				report(name.Pos(), fmt.Sprintf("%s.%s", in, name.Name))
			}
		}
	}
}

func isLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}
