package deploy_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// The rules fire and resolve as their scenarios say.
func TestRules(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not in the path: scripts/services up alertmanager brings it")
	}
	command := exec.CommandContext(t.Context(), "promtool", "test", "rules", "headrace.rules.test.yml")
	command.Dir = filepath.Dir(rulesFile)
	if said, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
