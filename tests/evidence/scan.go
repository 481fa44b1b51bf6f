package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// directive begins the line that says what a test shows.
const directive = "//evidence:"

// suites are packages whose tests other packages run.
var suites = map[string]suite{
	"store/storetest":   {[]string{"./store/postgres", "./store/sqlite"}, "^(TestConformanceOpen|TestConformancePGX|TestStore)$", "//"},
	"broker/brokertest": {[]string{"./broker/amqp", "./broker/kafka", "./broker/nats", "./broker/postgres", "./broker/redis", "./broker/sqs"}, "^TestConformance[A-Za-z]*$", "/"},
}

// suite says who runs the tests of a suite: the packages, their tests, and what is between
// the name of such a test and the title.
type suite struct {
	packages []string
	tests    string
	slashes  string
}

// shown is a test with a directive.
type shown struct {
	name     string // consumer.TestX, or store/storetest: a title
	at       string // file:line
	claims   []string
	packages []string
	pattern  string // for go test -run
	title    string // of a test of a suite
}

// scan returns the tests with a directive below root, by file and line.
func scan(root string) ([]shown, error) {
	var tests []shown
	var problems []error
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("\n"+directive)) {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		some, err := scanFile(root, filepath.ToSlash(relative), text)
		tests, problems = append(tests, some...), append(problems, err)
		return nil
	})
	return tests, errors.Join(append(problems, err)...)
}

// scanFile returns the tests of one file.
func scanFile(root, path string, text []byte) (tests []shown, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var problems []error
	of := make(map[*ast.CommentGroup]*ast.FuncDecl)
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Doc != nil {
			of[f.Doc] = f
		}
	}
	for _, group := range file.Comments {
		var claims []string
		for _, line := range group.List {
			if names, ok := strings.CutPrefix(line.Text, directive); ok && files.Position(line.Pos()).Column == 1 {
				claims = append(claims, strings.Fields(names)...)
			}
		}
		if len(claims) == 0 {
			continue
		}
		p := files.Position(group.End())
		t, err := test(root, path, of[group])
		if err != nil {
			problems = append(problems, fmt.Errorf("%s:%d: %w", path, p.Line, err))
			continue
		}
		t.at, t.claims = fmt.Sprintf("%s:%d", path, p.Line), claims
		tests = append(tests, t)
	}
	return tests, errors.Join(problems...)
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Example)[^a-z]`)

// test returns the test that f is, in the file at path.
func test(root, path string, f *ast.FuncDecl) (shown, error) {
	dir := filepath.ToSlash(filepath.Dir(path))
	switch s, ok := suites[dir]; {
	case f == nil || f.Recv != nil:
		return shown{}, errors.New("the directive is in front of no function")
	case ok:
		title, err := titleOf(filepath.Join(root, dir), f.Name.Name)
		if err != nil {
			return shown{}, err
		}
		pattern := s.tests + s.slashes + "^" + regexp.QuoteMeta(underscored(title)) + "$"
		return shown{name: dir + ": " + title, title: title, packages: s.packages, pattern: pattern}, nil
	case !strings.HasSuffix(path, "_test.go") || !testName.MatchString(f.Name.Name):
		return shown{}, fmt.Errorf("%s is no test", f.Name.Name)
	}
	name, pkg := dir+"."+f.Name.Name, "./"+dir
	if dir == "." {
		name, pkg = "headrace."+f.Name.Name, "."
	}
	return shown{name: name, packages: []string{pkg}, pattern: "^" + f.Name.Name + "$"}, nil
}

// underscored is a title as go test shows it.
func underscored(title string) string { return strings.ReplaceAll(title, " ", "_") }

// titleOf returns the title that a table of the suite in dir gives to a function: the
// string beside its name in a composite literal.
func titleOf(dir, name string) (title string, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if row, ok := n.(*ast.CompositeLit); ok {
				if text, has := cells(row, name); has && text != "" {
					title = text
				}
			}
			return title == ""
		})
	}
	if title == "" {
		return "", fmt.Errorf("no table of the suite has %s", name)
	}
	return title, nil
}

// cells returns the first string of a row, and whether the row has the identifier name.
func cells(row *ast.CompositeLit, name string) (text string, has bool) {
	for _, cell := range row.Elts {
		if pair, ok := cell.(*ast.KeyValueExpr); ok {
			cell = pair.Value
		}
		switch v := cell.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(v.Value); err == nil && text == "" && v.Kind == token.STRING {
				text = s
			}
		case *ast.Ident:
			has = has || v.Name == name
		}
	}
	return text, has
}

// finds reports whether t is the check that turns red for b.
func (t *shown) finds(b *bug) bool {
	if !slices.Contains(t.packages, b.pkg) {
		return false
	}
	top, rest, _ := strings.Cut(b.red, "/")
	if t.title == "" {
		return t.pattern == "^"+top+"$"
	}
	return strings.HasSuffix(rest, "/"+underscored(t.title)) || rest == underscored(t.title)
}
