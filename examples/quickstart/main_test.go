package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The README shows this program's handler, and what the program prints.
func TestReadme(t *testing.T) {
	fixed.Store(false) // also in a second run of the test
	readme, code := read(t, "../../README.md"), read(t, "main.go")
	if n := strings.Count(code, "\n"); n > 80 {
		t.Errorf("main.go has %d lines, and shall stay a page of 80", n)
	}
	_, handler, _ := strings.Cut(code, "func addInvoice(")
	handler, _, found := strings.Cut(handler, "\n}\n")
	if !found || !strings.Contains(readme, "func addInvoice("+handler+"\n}\n") {
		t.Error("the README does not show addInvoice as it is in main.go")
	}
	file := filepath.Join(t.TempDir(), "shop.db")
	var out bytes.Buffer
	if err := run(t.Context(), file, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if printed := strings.ReplaceAll(out.String(), file, "/tmp/quickstart-123/shop.db"); !strings.Contains(readme, printed) {
		t.Errorf("the README does not show what was printed:\n%s", printed)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
