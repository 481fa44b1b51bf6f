package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every line of Go that the pages for users show stands in a file that is compiled.
func TestGoIsCompiled(t *testing.T) {
	names, texts := pages(t)
	var page []byte
	for _, name := range names {
		page = append(page, texts[name]...)
	}
	var source strings.Builder
	for _, pattern := range []string{"*_test.go", "../adopt/*_test.go", "../../examples/router/*/*.go", "../../examples/quickstart/main.go", "../../examples/tutorial/main.go", "../../examples/pgx/main.go", "../../broker/*/example_test.go",
		"../../webhook/example_test.go", "../../ledger/example*_test.go", "../../schedule/example_test.go", "../../intent/example_test.go", "../../reconcile/example_test.go", "../../consumer/example_test.go", "../../consumer/consumertest/page_test.go", "../../consumer/consumertest/example*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
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
