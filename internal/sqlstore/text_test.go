package sqlstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A statement that reads the same in both dialects stands in this package, once.
func TestNothingIsWrittenTwice(t *testing.T) {
	files, err := filepath.Glob("../../store/postgres/*/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		dir, name := filepath.Split(file)
		if dir = filepath.Base(dir); dir != "queries" && dir != "checks" {
			continue
		}
		one, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if other, err := os.ReadFile(filepath.Join("../../store/sqlite", dir, name)); err == nil && bytes.Equal(one, other) {
			t.Errorf("%s/%s is the same for both drivers: move it here", dir, name)
		}
	}
}
