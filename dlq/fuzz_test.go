package dlq_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
)

// FuzzDescribe: any error and stack can be kept, and an error is in the group of its
// reason whatever its numbers are.
func FuzzDescribe(f *testing.F) {
	f.Add("order 17: no such customer 42", "goroutine 1 [running]:\npanic({0x1, 0x2})\n\t/go/panic.go:1 +0x1\nmain.work()\n\t/main.go:7\n")
	f.Add("\xff\x00'a' \"b\" `c`", "panic(")
	f.Add(strings.Repeat("a@b ", 2000), strings.Repeat("x", 20<<10))
	f.Fuzz(func(t *testing.T, text, stack string) {
		err := fmt.Errorf("outer: %w", errors.New(text))
		got := dlq.Describe(err, []byte(stack), nil)
		for _, s := range append([]string{got.Error, got.Stack}, got.Chain...) {
			if !encode.Clean(s) || len(s) > 64<<10 {
				t.Fatalf("%d bytes: %.100q", len(s), s)
			}
		}
		if len(dlq.CapStack([]byte(stack))) > 16<<10 {
			t.Fatal("the stack is too long")
		}
		print := fingerprint(err, []byte(stack))
		if len(print) != 16 || print != fingerprint(fmt.Errorf("outer: %w", errors.New(text)), []byte(stack)) {
			t.Fatalf("group %q", print)
		}
		one, two := fmt.Errorf("order 17 of 2026-01-02: %w", err), fmt.Errorf("order 9931 of 2027-11-12: %w", err)
		// Of a longer text the end is not read, and where it ends depends on what stands before.
		if len(text) < 3<<10 && fingerprint(one, nil) != fingerprint(two, nil) && utf8.ValidString(text) {
			t.Fatalf("%.300q and %.300q are two groups", one, two)
		}
	})
}

// FuzzCopy: the copy of a letter has the headers of the message and ours, and ours
// replace forged ones.
func FuzzCopy(f *testing.F) {
	f.Add("a", "b", "boom")
	f.Add(dlq.HeaderClass, "exhausted", "\xff")
	f.Add("\x00", "\r\nX: y", "")
	f.Fuzz(func(t *testing.T, name, value, said string) {
		l := dlq.Letter{LetterID: 7, Class: dlq.Exhausted, Error: said, Delivery: headrace.Delivery{
			Key: "m", Topic: "orders", Payload: []byte("x"), Metadata: map[string]string{name: value},
		}}
		before := maps.Clone(l.Delivery.Metadata)
		e := dlq.Copy(l, "orders.dead")
		if !maps.Equal(l.Delivery.Metadata, before) {
			t.Fatal("the letter's headers were changed")
		}
		if e.Metadata[dlq.HeaderLetter] != "7" || e.Metadata[dlq.HeaderClass] != string(l.Class) || e.Metadata[dlq.HeaderError] != said {
			t.Fatalf("%q", e.Metadata)
		}
		if !strings.HasPrefix(name, "headrace_") && e.Metadata[name] != value {
			t.Fatalf("%q", e.Metadata)
		}
		if _, err := e.Encode(nil); err != nil {
			t.Fatal(err)
		}
	})
}
