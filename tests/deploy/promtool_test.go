package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The rules fire and resolve as their scenarios say.
func TestRules(t *testing.T) {
	const missing = "promtool is not in the path: scripts/services up alertmanager brings it"
	if _, err := exec.LookPath("promtool"); err != nil && os.Getenv("CI") == "true" {
		t.Fatal(missing)
	} else if err != nil {
		t.Skip(missing)
	}
	command := exec.CommandContext(t.Context(), "promtool", "test", "rules", "headrace.rules.test.yml")
	command.Dir = filepath.Dir(rulesFile)
	if said, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
