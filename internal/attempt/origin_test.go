package attempt_test

import (
	"testing"

	"github.com/headrace/headrace/internal/attempt"
)

// The user's own name of the build comes first.
func TestOrigin(t *testing.T) {
	t.Setenv("HEADRACE_BUILD", "1.8.0")
	if host, build := attempt.Host(), attempt.Build(); build != "1.8.0" || host == "" {
		t.Errorf("host %q, build %q", host, build)
	}
	t.Setenv("HEADRACE_BUILD", "")
	if build := attempt.Build(); build == "(devel)" {
		t.Errorf("build %q is not told from one that is unknown", build)
	}
}
