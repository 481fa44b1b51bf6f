package encode_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/encode"
)

// stateError is an error of a server that says state and words.
type stateError struct{ state, words string }

func (e stateError) Error() string    { return e.words }
func (e stateError) SQLState() string { return e.state }

// INVARIANT 20: what a server says of the schema is logged, what may quote values is not.
func TestSaid(t *testing.T) {
	const canary = "s3cr3t"
	for _, c := range []struct {
		err       error
		has, lack string
	}{
		{fmt.Errorf("poll: %w", stateError{"42P01", `relation "headrace_inbox" does not exist`}), `poll: relation "headrace_inbox"`, "SQLSTATE"},
		{fmt.Errorf("poll: %w", stateError{"53300", "too many clients"}), "too many clients", "SQLSTATE"},
		{fmt.Errorf("take: %w", stateError{"22P02", "invalid input: " + canary}), "take: encode_test.stateError (SQLSTATE 22P02", canary},
		{fmt.Errorf("commit: %w: %w", io.EOF, stateError{"P0001", canary}), "commit: EOF: encode_test.stateError (SQLSTATE P0001", canary},
		{errors.Join(io.EOF, stateError{"", canary}), "EOF", canary},
		{io.EOF, "EOF", "SQLSTATE"},
		{broken{}, "encode_test.broken", "EOF"},
		{fmt.Errorf("take: %w", hiding{stateError{"22P02", canary}}), "*fmt.wrapError", canary},
	} {
		if got := encode.Said(c.err); !strings.Contains(got, c.has) || strings.Contains(got, c.lack) {
			t.Errorf("%q: want %q in it, and no %q", got, c.has, c.lack)
		}
	}
	if got := encode.Said(nil); got != "" {
		t.Errorf("of no error: %q", got)
	}
}

// hiding shows the text of an error that it does not unwrap.
type hiding struct{ error }

func (hiding) Unwrap() error { panic("no more") }

// broken is an error whose methods panic.
type broken struct{}

func (broken) Error() string { panic("no words") }
