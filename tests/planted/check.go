package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// errHarmless says of a bug that the check did not find it.
var errHarmless = errors.New("the check stays green")

// goTest runs tests of a package in the copy and returns what they print. Failing tests
// are no error.
func (t *tree) goTest(ctx context.Context, pkg, run string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-v", "-count=1", "-vet=off", "-timeout=5m", "-run="+run, pkg)
	cmd.Dir = t.dir
	// A server that is missing fails a test; nothing is asked of a version control. What
	// is killed leaves its files in a directory that goes.
	cmd.Env = append(os.Environ(), "CI=true", "TMPDIR="+t.temp, "GOTMPDIR="+t.temp, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildvcs=false"))
	own(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && !errors.As(err, &exit):
		return "", fmt.Errorf("go test: %w", err)
	case strings.Contains(out.String(), "[build failed]"), strings.Contains(out.String(), "[setup failed]"):
		return out.String(), errors.New("it does not compile")
	}
	return out.String(), nil
}

// ended reports whether output says of the test that it ended so, PASS or FAIL.
func ended(output, how, test string) bool {
	line := regexp.MustCompile(`(?m)^ *--- ` + how + `: ` + regexp.QuoteMeta(test) + ` \(`)
	return line.MatchString(output)
}

// green judges the output of a check without its bug.
func (b *bug) green(output string) error {
	switch {
	case ended(output, "PASS", b.red):
		return nil
	case ended(output, "FAIL", b.red), ended(output, "SKIP", b.red):
		return fmt.Errorf("%s does not pass", b.red)
	}
	return fmt.Errorf("there is no test %s in this check", b.red)
}

// found judges the output of a check with its bug.
func (b *bug) found(output string) error {
	switch {
	case ended(output, "PASS", b.red):
		return errHarmless
	case !ended(output, "FAIL", b.red):
		return fmt.Errorf("%s did not end", b.red)
	case !strings.Contains(output, b.says):
		return fmt.Errorf("%s fails, and does not say %q: for another reason", b.red, b.says)
	}
	return nil
}
