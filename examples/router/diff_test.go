package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// maxChanged is how many lines make a Router safe, at most.
const maxChanged = 5

func readme(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// source returns the lines of a version without its package clause and its imports.
func source(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, body, found := strings.Cut(string(text), "\n)\n")
	if !found {
		t.Fatalf("%s has no imports", path)
	}
	return strings.Split(strings.TrimRight(body, "\n"), "\n")
}

// diff returns the lines of a and b as a unified diff has them, all of them.
func diff(a, b []string) []string {
	common := make([][]int, len(a)+1) // of the rest of both
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var lines []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, strings.TrimRight(" "+a[i], " "))
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, "-"+a[i])
			i++
		default:
			lines = append(lines, "+"+b[j])
			j++
		}
	}
	return lines
}

// changed returns the lines that a person writes: those that come, without the checks of
// errors.
func changed(diff []string) (lines []string) {
	for i, line := range diff {
		check := line == "+	if err != nil {" || i > 0 && diff[i-1] == "+	if err != nil {" || i > 1 && diff[i-2] == "+	if err != nil {"
		if strings.HasPrefix(line, "+") && !check {
			lines = append(lines, line)
		}
	}
	return lines
}

// At most five lines change, error checks and imports aside, and the README shows them.
func TestFiveLines(t *testing.T) {
	for _, name := range []string{"sqlc.go", "gorm.go"} {
		lines := diff(source(t, "before/"+name), source(t, "after/"+name))
		if n := len(changed(lines)); n == 0 || n > maxChanged {
			t.Errorf("%s: %d lines change:\n%s", name, n, strings.Join(changed(lines), "\n"))
		}
		if strings.Count(strings.Join(lines, "\n"), "\n-") > maxChanged {
			t.Errorf("%s: more than %d lines go", name, maxChanged)
		}
		if page := readme(t); !strings.Contains(page, "```diff\n"+strings.Join(lines, "\n")+"\n```") {
			t.Errorf("%s: the README does not show\n%s", name, strings.Join(lines, "\n"))
		}
	}
}

func TestDiff(t *testing.T) {
	got := diff([]string{"a", "b", "c"}, []string{"a", "x", "c", "	if err != nil {"})
	if want := []string{" a", "-b", "+x", " c", "+	if err != nil {"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
