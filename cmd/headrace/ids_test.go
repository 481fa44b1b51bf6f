package main

import (
	"slices"
	"strings"
	"testing"
)

// Bad input 54.
func TestReadIDs(t *testing.T) {
	for _, c := range []struct {
		args  []string
		stdin string
		want  []int64
		fails string
	}{
		{args: nil, want: nil},
		{args: []string{"3", "1", "3"}, want: []int64{1, 3}},
		{args: []string{"-"}, stdin: " 2\r\n\n2\n1", want: []int64{1, 2}},
		{args: []string{"-"}, stdin: "", fails: "holds no ids"},
		{args: []string{"-"}, stdin: "1\n2\nx\x1b[2J\n", fails: "line 3"},
		{args: []string{"-"}, stdin: "1\n" + strings.Repeat("9", 1<<17), fails: "line 2: too long"},
		{args: []string{"-", "1"}, fails: "not from both"},
		{args: []string{"0"}, fails: "no id"},
		{args: []string{"-5"}, fails: "no id"},
		{args: []string{"9223372036854775808"}, fails: "no id"},
	} {
		m := &Main{Stdin: strings.NewReader(c.stdin)}
		got, err := m.readIDs(c.args)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%q: %v, want %q", c.args, err, c.fails)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v", c.args, got, err)
		}
	}
	var many strings.Builder
	for range 1_000_000 {
		many.WriteString("7\n8\n")
	}
	m := &Main{Stdin: strings.NewReader(many.String())}
	if got, err := m.readIDs([]string{"-"}); err != nil || !slices.Equal(got, []int64{7, 8}) {
		t.Errorf("two million lines: %d ids, %v", len(got), err)
	}
}
