package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The figures are counted from the tables and from what was published: the Router as it
// was loses messages and applies some twice, and after five lines it does neither.
func TestBeforeAndAfter(t *testing.T) {
	for orm, v := range versions {
		t.Run(orm, func(t *testing.T) {
			was, err := try(t.Context(), t.TempDir()+"/before.db", 100, v.before)
			if err != nil {
				t.Fatal(err)
			}
			if was.lost == 0 || was.appliedTwice == 0 || was.announcedTwice == 0 {
				t.Errorf("before: %+v", was)
			}
			is, err := try(t.Context(), t.TempDir()+"/after.db", 100, v.after)
			if err != nil {
				t.Fatal(err)
			}
			want := figures{delivered: 133, messages: 100, applied: 98, dead: 2, announced: 98}
			if is != want {
				t.Errorf("after: %+v, want %+v", is, want)
			}
		})
	}
}

// The README shows what the command prints.
func TestReadmeShowsTheTable(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), nil, &out); err != nil {
		t.Fatal(err)
	}
	page := readme(t)
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(page, strings.TrimRight(line, " \n")) {
			t.Errorf("not in the README: %s", line)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-orm", "none"}, {"-n", "0"}, {"-unknown"}} {
		if err := run(t.Context(), args, &strings.Builder{}); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
