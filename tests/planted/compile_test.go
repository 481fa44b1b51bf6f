package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// checker type-checks a package of the tree against the compiled packages it imports: hundreds of bugs
// in seconds, where a build of each takes minutes.
type checker struct {
	packages map[string]listed // by the directory in the tree
	conf     types.Config
	fset     *token.FileSet
}

type listed struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-export", "-json=Dir,ImportPath,Export,GoFiles", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{packages: map[string]listed{}, fset: token.NewFileSet()}
	exports := map[string]string{}
	for list := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if dir, ours := strings.CutPrefix(p.Dir, top); ours {
			c.packages[strings.TrimPrefix(dir, "/")] = p
		}
	}
	c.conf.Importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

var changed = regexp.MustCompile(`(?m)^\+\+\+ b/(.*)\.go$`)

// check type-checks the package whose files the patch changes, in the tree in dir. Several are built.
func (c *checker) check(ctx context.Context, dir, patch string) error {
	text, err := os.ReadFile(patch)
	if err != nil {
		return err
	}
	var in []string
	for _, match := range changed.FindAllSubmatch(text, -1) {
		if d := "./" + filepath.Dir(string(match[1])); !slices.Contains(in, d) {
			in = append(in, d)
		}
	}
	switch len(in) {
	case 0: // SQL
		return nil
	case 1:
		return c.checkPackage(dir, in[0])
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"build"}, in...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (c *checker) checkPackage(dir, in string) error {
	p, ok := c.packages[strings.Trim(in, "./")]
	if !ok {
		return fmt.Errorf("no package in %s", in)
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(c.fset, filepath.Join(dir, in, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	_, err := c.conf.Check(p.ImportPath, c.fset, files, nil)
	return err
}
