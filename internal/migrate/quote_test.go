package migrate_test

import (
	"os/exec"
	"testing"

	"github.com/headrace/headrace/internal/migrate"
)

// A shell reads back what was quoted, and no terminal reads anything in it.
func TestQuote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"k-1": "k-1", "a b": "'a b'", "it's": `'it'\''s'`, "ü": "'ü'", "a\x1b[2J": `$'a\033[2J'`, "a\n1'\\ü": `$'a\0121\'\\\303\274'`,
	} {
		if got := migrate.Quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		shell, err := exec.LookPath("bash")
		if err != nil {
			t.Log("no bash")
			continue
		}
		if got, err := exec.Command(shell, "-c", "printf %s "+migrate.Quote(text)).Output(); err != nil || string(got) != text {
			t.Errorf("bash reads %q, %v", got, err)
		}
	}
}
