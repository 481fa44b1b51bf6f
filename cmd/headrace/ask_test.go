package main

import "testing"

// A command line that is printed again can be pasted, and has no DSN.
func TestAgain(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"headrace dlq redrive 7 --reason 'it'\\''s fixed' --yes --direct": {"dlq", "redrive", "7", "--reason", "it's fixed", "--yes"},
		"headrace dlq redrive --key='a b' -y --direct":                    {"--dsn", "postgres://u:p@h/d", "dlq", "redrive", "--key=a b", "--dsn=x", "-y"},
		"headrace steps send --direct -- s '-k'":                          {"steps", "send", "--", "s", "-k"},
	} {
		if got := again(args, "--direct"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
