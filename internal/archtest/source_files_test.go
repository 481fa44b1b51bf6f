package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

func goroutines(f *File) []Finding {
	var found []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if n, ok := n.(*ast.GoStmt); ok {
			found = append(found, Finding{f.at(n.Pos()), "starts a goroutine"})
		}
		return true
	})
	return found
}

// impure finds imports of a database or of the clock.
func impure(f *File) []Finding {
	var found []Finding
	for _, spec := range f.AST.Imports {
		if path := f.imported(spec); path == "database/sql" || path == "time" {
			found = append(found, Finding{f.at(spec.Pos()), "imports " + path})
		}
	}
	return found
}

// statement recognises the beginning of SQL by the words that have to follow each other, so that neither
// "update the row" in an error nor "DELETE /letters/{id}" in a route is any. SAVEPOINT and the like are not
// in it: they are the same on every database.
var statement = regexp.MustCompile(`^(\s|\(|--.*\n)*(` +
	`SELECT\s+\S|(?i:select)\s[^:]*\s(?i:from)\s` +
	`|(?i:insert\s+(or\s+\w+\s+)?into|merge\s+into|delete\s+from|truncate\s+table)\s+\S` +
	`|(?i:update\s+(only\s+)?\S+(\s+(as\s+)?\w+)?\s+set)\s` +
	`|(?i:with\s+(recursive\s+)?\w+(\s*\([^)]*\))?\s+as\s+(\w+\s+)*\()` +
	`|(?i:(create|alter|drop)\s+((unique|temp|temporary|or|replace|materialized)\s+)*` +
	`(table|index|view|schema|database|sequence|type|function|trigger)\s))`)

func isSQL(text string) bool {
	return statement.MatchString(text)
}

func sqlText(f *File) []Finding {
	var found []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if text, ok := literal(n); ok && isSQL(text) {
			first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
			found = append(found, Finding{f.at(n.Pos()), fmt.Sprintf("holds SQL: %.40s", first)})
		}
		return true
	})
	return found
}

// literal returns the text of a string literal.
func literal(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

func assembledSQL(f *File) []Finding {
	var found []Finding
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name, ok := formats(n); ok {
				for _, arg := range n.Args {
					if text, ok := leading(arg); ok && isSQL(text) {
						found = append(found, Finding{f.at(n.Pos()), "builds SQL with fmt." + name})
						return false
					}
				}
			}
		case *ast.BinaryExpr:
			if text, ok := leading(n); ok && isSQL(text) && !constant(n) {
				found = append(found, Finding{f.at(n.Pos()), "builds SQL by concatenation"})
				return false
			}
		}
		return true
	})
	return found
}

// formats reports whether the call is one of fmt's that makes text. Errorf makes errors.
func formats(call *ast.CallExpr) (string, bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok || pkg.Name != "fmt" {
		return "", false
	}
	for _, prefix := range []string{"Sprint", "Fprint", "Append"} {
		if strings.HasPrefix(sel.Sel.Name, prefix) {
			return sel.Sel.Name, true
		}
	}
	return "", false
}

// leading returns the text of a chain of + that begins with a literal, with an x for each part that is none.
func leading(expr ast.Expr) (string, bool) {
	switch expr := expr.(type) {
	case *ast.BinaryExpr:
		if expr.Op != token.ADD {
			return "", false
		}
		left, ok := leading(expr.X)
		right, more := leading(expr.Y)
		if !more {
			right = "x"
		}
		return left + right, ok
	case *ast.ParenExpr:
		return leading(expr.X)
	}
	return literal(expr)
}

// constant reports whether a chain of + holds literals only.
func constant(expr ast.Expr) bool {
	switch expr := expr.(type) {
	case *ast.BinaryExpr:
		return constant(expr.X) && constant(expr.Y)
	case *ast.ParenExpr:
		return constant(expr.X)
	}
	_, ok := literal(expr)
	return ok
}
