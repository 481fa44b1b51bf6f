package archtest

import (
	"path"
	"strings"
)

func unplaced(p *Package) string {
	if Placed.Has(p.Path) {
		return ""
	}
	return "stands in no layer"
}

func undocumented(p *Package) string {
	for _, f := range p.Files {
		if path.Base(f.Name) != "doc.go" {
			continue
		}
		// Doc leaves out directives such as //go:build.
		name, text := f.AST.Name.Name, f.AST.Doc.Text()
		if text == "" || name != "main" && !strings.HasPrefix(text, "Package "+name+" ") {
			return "has a doc.go without a comment that begins with Package " + name
		}
		return ""
	}
	return "has no doc.go"
}
