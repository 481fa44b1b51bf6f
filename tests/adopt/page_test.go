package adopt_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every line of Go that docs/adopt.md and the README show stands in a file that
// the tests compile. (The README's handler is the business of package consumer.)
func TestThePagesShowWhatRuns(t *testing.T) {
	var page []byte
	for _, name := range []string{"docs/adopt.md", "README.md"} {
		text, err := os.ReadFile("../../" + name)
		must(t, err)
		page = append(page, strings.Replace(string(text), "```go", "```text", oneIf(name == "README.md"))...)
	}
	var source strings.Builder
	for _, pattern := range []string{"*_test.go", "../../examples/router/*/*.go", "../../broker/*/example_test.go", "../../consumer/consumertest/readme_test.go"} {
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

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
