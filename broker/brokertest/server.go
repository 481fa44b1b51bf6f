package brokertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Variable returns the value of the environment variable that has a server's address.
// Without it, it skips t with the command that starts the server; in a run that must
// leave nothing out (CI=true) it fails t. Until the process ends, no other package
// restarts that server.
func Variable(t testing.TB, variable, server string) string {
	t.Helper()
	value := os.Getenv(variable)
	switch {
	case value != "":
		share(t, server)
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is not set: start the server with scripts/services up %s, and take the line that scripts/services env %s prints", variable, server, server)
	default:
		t.Skipf("%s is not set; scripts/services up %s starts a server, scripts/services env %s prints the variable", variable, server, server)
	}
	return value
}

// Restart kills the server that scripts/services knows by name and starts it again; it
// returns when the server answers.
func Restart(ctx context.Context, name string) error {
	root, err := root()
	if err != nil {
		return err
	}
	out, err := os.CreateTemp("", "restart") // a pipe would stay open while the server runs
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }()
	defer func() { _ = out.Close() }()
	cmd := exec.CommandContext(ctx, filepath.Join(root, "scripts", "services"), "restart", name)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out.Name())
		return fmt.Errorf("scripts/services restart %s: %w: %s", name, err, said)
	}
	return nil
}

// root returns the directory of go.mod: tests run in the directory of their package.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the test's directory")
		}
		dir = parent
	}
}
