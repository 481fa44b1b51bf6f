package adopt_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every line of Go that the README, docs/adopt.md, docs/pgx.md and docs/testing.md show stands in a file
// that the tests compile.
func TestThePagesShowWhatRuns(t *testing.T) {
	var page []byte
	for _, name := range []string{"docs/adopt.md", "docs/pgx.md", "docs/testing.md", "README.md"} {
		text, err := os.ReadFile("../../" + name)
		must(t, err)
		page = append(page, text...)
	}
	var source strings.Builder
	for _, pattern := range []string{"*_test.go", "../../examples/router/*/*.go", "../../examples/quickstart/main.go", "../../examples/pgx/main.go", "../../broker/*/example_test.go",
		"../../consumer/example_test.go", "../../consumer/consumertest/page_test.go", "../../consumer/consumertest/example_test.go"} {
		files, err := filepath.Glob(pattern)
		must(t, err)
		for _, name := range files {
			if name == "page_test.go" {
				continue
			}
			text, err := os.ReadFile(name)
			must(t, err)
			source.Write(text)
		}
	}
	blocks := regexp.MustCompile("(?s)```(go|diff)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 4 {
		t.Fatalf("%d blocks of Go", len(blocks))
	}
	for _, block := range blocks {
		for line := range strings.Lines(block[2]) {
			if block[1] == "diff" {
				line = line[1:]
			}
			line, _, _ = strings.Cut(line, " // ")
			line = strings.TrimSpace(line)
			if line != "" && line != "…" && !strings.Contains(source.String(), line) {
				t.Errorf("nothing compiles this line: %s", line)
			}
		}
	}
}
