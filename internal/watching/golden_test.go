package watching

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/alerts"
)

var update = flag.Bool("update", false, "write the golden file")

// conditions has the alerts of each condition. Package sinks has its sinks send them.
const conditions = "../../alerts/sinks/testdata/conditions.json"

// golden compares the alerts of all conditions with those of the file: go test ./internal/watching
// -run TestEveryKind -update writes it.
func golden(t *testing.T, all []alerts.Alert) {
	t.Helper()
	slices.SortFunc(all, func(a, b alerts.Alert) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Phase, b.Phase))
	})
	for i := range all { // what each database has of its own
		all[i].ID, all[i].Key = string(all[i].Kind)+"-"+string(all[i].Phase), strings.Repeat("7f3a", 16)
		all[i].Database, all[i].Schema = "shop", "public"
		all[i].Since = all[i].Since.UTC()
	}
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(all); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(conditions, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(conditions)
	if err != nil || !bytes.Equal(want, got.Bytes()) {
		t.Errorf("%s, %v:\n%s", conditions, err, got.Bytes())
	}
}
