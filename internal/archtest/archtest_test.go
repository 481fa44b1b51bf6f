package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "github.com/headrace/headrace"

// The tree of this module keeps every rule.
//
//evidence:layers
func TestTree(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	tree, err := Load(os.DirFS(root), module)
	if err != nil {
		t.Fatal(err)
	}
	if tree.Package("./internal/archtest") == nil {
		t.Fatal("this package is not in the tree: the root is wrong")
	}
	for _, rule := range Rules {
		for _, violation := range rule.Check(tree) {
			t.Error(violation)
		}
	}
	for _, violation := range Unknown(tree, Rules, Placed) {
		t.Error(violation)
	}
}

// A layer or a rule that names no package is refused: it would hold for nothing.
func TestSetsNamePackages(t *testing.T) {
	t.Parallel()
	tree := load(t, map[string]string{"inbox/a.go": "package inbox", "tests/crash/a.go": "package crash"})
	rules := []Rule{{Package: Set{Ours}, Except: Set{"./gone"}, MayNotImport: Set{"./cmd/...", "github.com/lib/pq"}, But: Set{"./inbox/below"}}}
	var got []string
	for _, v := range Unknown(tree, rules, Set{"./inbox", "./tests/...", "./ledger"}) {
		got = append(got, v.Where)
	}
	if want := []string{"./cmd/...", "./gone", "./inbox/below", "./ledger"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// ruleCase is a tiny module, and what one rule says about it.
type ruleCase struct {
	rule string
	// files are Go sources by name.
	files map[string]string
	// want are the places and the words of each violation, "place: words", in order.
	want []string
}

func TestRulesCanFail(t *testing.T) {
	t.Parallel()
	for _, tc := range allCases() {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			rule := ruleNamed(t, tc.rule)
			var got []string
			for _, v := range rule.Check(load(t, tc.files)) {
				got = append(got, v.Where+": "+v.What)
				if v.Why == "" || !strings.Contains(v.String(), v.Why) {
					t.Errorf("%q does not print its reason", v)
				}
			}
			if !slices.EqualFunc(got, tc.want, strings.Contains) || len(got) != len(tc.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(tc.want, "\n\t"))
			}
		})
	}
}

// A rule that no case breaks may never have worked.
//
//evidence:layers
func TestEveryRuleIsBroken(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, rule := range Rules {
		if names[rule.Name] {
			t.Errorf("two rules are called %q", rule.Name)
		}
		names[rule.Name] = true
		broken := func(tc ruleCase) bool { return tc.rule == rule.Name && len(tc.want) > 0 }
		if !slices.ContainsFunc(allCases(), broken) {
			t.Errorf("no case breaks the rule %q", rule.Name)
		}
	}
}

func allCases() []ruleCase {
	return slices.Concat(importCases, sourceCases, sizeCases(), packageSizeCases(), documentedCases)
}

func ruleNamed(t *testing.T, name string) Rule {
	t.Helper()
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no rule is called %q", name)
	}
	return Rules[i]
}

func load(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, source := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(source)}
	}
	tree, err := Load(fsys, module)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// importing is the source of a package that imports paths; "./" begins ours.
func importing(pkg string, paths ...string) string {
	source := "package " + pkg + "\n"
	for _, path := range paths {
		if path == "." {
			path = module
		} else if below, ok := strings.CutPrefix(path, "./"); ok {
			path = module + "/" + below
		}
		source += "import _ \"" + path + "\"\n"
	}
	return source
}

func TestLoadLooksWhereGoDoes(t *testing.T) {
	t.Parallel()
	tree := load(t, map[string]string{
		"a.go":               "package headrace",
		"inbox/a_windows.go": "package inbox",
		"inbox/a_test.go":    "package inbox_test",
		"_old/a.go":          "not Go",
		".cache/a.go":        "not Go",
		"vendor/x/a.go":      "not Go",
		"x/testdata/a.go":    "not Go",
		"other/go.mod":       "module other",
		"other/a.go":         "not Go",
		"inbox/_a.go":        "not Go",
	})
	var got []string
	for _, p := range tree.Packages {
		for _, f := range p.Files {
			got = append(got, p.Path+" "+f.Name)
		}
	}
	want := []string{". a.go", "./inbox inbox/a_test.go", "./inbox inbox/a_windows.go"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{".", ".", true},
		{".", "./inbox", false},
		{"./...", ".", true},
		{"./...", "./inbox", true},
		{"./...", "testing", false},
		{"./store", "./store/txn", false},
		{"./store/...", "./store", true},
		{"./store/...", "./store/txn", true},
		{"./store/...", "./storeroom", false},
		{"testing/...", "testing/fstest", true},
		{ThirdParty, "github.com/lib/pq", true},
		{ThirdParty, "database/sql", false},
		{ThirdParty, "./inbox", false},
		{ThirdParty, ".", false},
	} {
		if got := (Set{"nothing", tc.pattern}).Has(tc.path); got != tc.want {
			t.Errorf("%s names %s: %t, want %t", tc.pattern, tc.path, got, tc.want)
		}
	}
}
