package alerts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// Each kind that is declared is one of Kinds: its counters begin at 0.
func TestKindsAreAll(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "kind.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			declared += len(spec.Names)
		}
		return true
	})
	seen := make(map[Kind]bool)
	for _, kind := range Kinds() {
		seen[kind] = true
	}
	if declared == 0 || len(seen) != declared || len(Kinds()) != declared {
		t.Errorf("%d of %d kinds, %d of them once", len(Kinds()), declared, len(seen))
	}
}
