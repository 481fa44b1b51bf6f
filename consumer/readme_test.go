package consumer_test

import (
	"os"
	"strings"
	"testing"
)

// The handler in the README is the one that the Example runs.
func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(readme), "```go\n")
	code, _, found := strings.Cut(code, "err = c.Run(ctx)")
	if !found {
		t.Fatal("no handler in the README")
	}
	for line := range strings.Lines(code) {
		if !strings.Contains(string(example), line) {
			t.Errorf("not in the Example: %s", line)
		}
	}
}
