package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/internal/attempt"
)

var update = flag.Bool("update", false, "write the golden files")

// goldenItems is how many items of a list a golden file has: the others look alike.
const goldenItems = 3

// oldAge is the age of something in a warning.
var oldAge = regexp.MustCompile(`oldest [0-9hms.]+`)

var randomID = regexp.MustCompile(`^([0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32})$`)

// golden returns value with fixed words for what differs from run to run, or from one schema
// or build to the next.
func golden(name string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			value[name] = golden(name, member)
		}
	case []any:
		for i := range value {
			value[i] = golden(name, value[i])
		}
		return value[:min(len(value), goldenItems)]
	case json.Number:
		if strings.HasSuffix(name, "_ns") {
			return 0
		}
	case string:
		switch {
		case instant.MatchString(value):
			return "TIME"
		case randomID.MatchString(value):
			return "ID"
		case name == "by" && value == userName():
			return "USER"
		case name == "why" && (value == "" || strings.HasPrefix(value, "billing is paused") || strings.HasPrefix(value, "no process of billing")):
			return "WHY" // a running redrive: its last step says so
		case name == "host" && value == attempt.Host():
			return "HOST"
		case name == "warnings":
			return oldAge.ReplaceAllString(value, "oldest 0s")
		case name == "sql" || name == "go" || name == "window" || name == "sha256":
			return strings.ToUpper(name)
		}
	}
	return value
}

// checkGolden compares what a command prints with testdata/json/COMMAND.json. A command
// without a file fails: `go test ./cmd/headrace -run TestJSON -update` writes them, and a
// reader of the difference decides whether programs that read the old form still can.
func checkGolden(t *testing.T, command, printed string) {
	t.Helper()
	var got bytes.Buffer
	out := json.NewEncoder(&got)
	out.SetIndent("", "  ")
	in := json.NewDecoder(strings.NewReader(printed))
	in.UseNumber()
	for {
		var object any
		if err := in.Decode(&object); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		if err := out.Encode(golden("", object)); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join("testdata", "json", strings.ReplaceAll(command, " ", "_")+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Errorf("%s has no golden file: %v", command, err)
		return
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-golden +got):\n%s", command, diff)
	}
}
