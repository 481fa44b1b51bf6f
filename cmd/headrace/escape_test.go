package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// Bad input 17 and 64: text from outside never acts on a terminal.
func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain, grüße, 漢字 🙂":      "plain, grüße, 漢字 🙂",
		"\x1b[2J\x1b]0;title\x07": `\x1b[2J\x1b]0;title\a`,
		"a\r\nb\tc\x00":           `a\r\nb\tc\x00`,
		"\u009b31m":               `\u009b31m`,
		"abc\u202egpj":            `abc\u202egpj`,
		"bad\xff\xc3":             `bad\xff\xc3`,
		"\u2028":                  `\u2028`,
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestVisibleAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		for _, r := range visible(s) {
			if !unicode.IsGraphic(r) {
				t.Fatalf("%q is left of %q", r, s)
			}
		}
	})
}

// What encoding/json leaves (DEL, C1, marks of direction) is escaped too, and comes
// back as it was.
func TestVisibleJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := strings.ToValidUTF8(rapid.String().Draw(t, "text"), "") + "\x7f\u009b\u202e\U000e0001é"
		encoded, err := json.Marshal(map[string]string{want: want})
		if err != nil {
			t.Fatal(err)
		}
		safe := visibleJSON(encoded)
		for _, r := range string(safe) {
			if !unicode.IsGraphic(r) {
				t.Fatalf("%q is left in %s", r, safe)
			}
		}
		var got map[string]string
		if err := json.Unmarshal(safe, &got); err != nil {
			t.Fatalf("%s: %v", safe, err)
		}
		if got[want] != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestShort(t *testing.T) {
	if got := short("grüße", 5); got != "grüße" {
		t.Error(got)
	}
	if got := short("grüßen", 5); got != "grüß…" {
		t.Error(got)
	}
}
