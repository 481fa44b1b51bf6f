package reconcile

import (
	"testing"
	"time"
)

// day is a time in days.
func day(n float64) time.Time {
	return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n * 24 * float64(time.Hour)))
}

func days(from, to float64) Window { return Window{day(from), day(to)} }

// The window leaves out nothing since the last run, and nothing that may be pruned.
//
//evidence:reconcile
func TestWindow(t *testing.T) {
	var never time.Time
	for name, c := range map[string]struct {
		checked, kept time.Time
		window, gap   Window
	}{
		"the first run":                             {never, never, days(18, 19.5), Window{}},
		"every day":                                 {day(18.5), never, days(18, 19.5), Window{}},
		"after an outage":                           {day(10), never, days(10, 19.5), Window{}},
		"the last run was at the start":             {day(18), never, days(18, 19.5), Window{}},
		"pruned long ago":                           {day(18.5), day(5), days(18, 19.5), Window{}},
		"pruned up to the start":                    {day(18.5), day(18), days(18, 19.5), Window{}},
		"pruned within the window":                  {day(18.5), day(19), days(19, 19.5), days(18, 19)},
		"after an outage longer than the retention": {day(3), day(12), days(12, 19.5), days(3, 12)},
		"all of it pruned":                          {day(18.5), day(30), days(19.5, 19.5), days(18, 19.5)},
		"a later tick has run":                      {day(25), never, days(18, 19.5), Window{}},
	} {
		t.Run(name, func(t *testing.T) {
			w, gap := windowOf(day(20), c.checked, c.kept, 48*time.Hour, 12*time.Hour)
			if w != c.window || gap != c.gap {
				t.Errorf("%v without %v, want %v without %v", w, gap, c.window, c.gap)
			}
			for _, at := range []float64{3, 12, 17.9, 18, 18.7, 19, 19.4} { // each time is compared or in the gap
				in, out := w.contains(day(at)), gap.contains(day(at))
				due := !c.checked.IsZero() && !day(at).Before(c.checked) || at >= 18
				if in && out || in != due && out != due {
					t.Errorf("day %g: compared %t, left out %t, due %t", at, in, out, due)
				}
			}
		})
	}
}

func TestKeptSince(t *testing.T) {
	if at := keptSince(time.Time{}, time.Hour); !at.IsZero() {
		t.Errorf("nothing was pruned: %s", at)
	}
	if at := keptSince(day(1), 12*time.Hour); !at.Equal(day(1.5)) {
		t.Errorf("clocks may differ: %s", at)
	}
}

// So many may be started without a person.
//
//evidence:reconcile
func TestBeyond(t *testing.T) {
	for _, c := range []struct {
		missing, all int
		want         string
	}{
		{0, 0, ""}, {19, 19, ""}, {1, 20, ""}, {2, 20, "MostShare"}, {5, 100, ""}, {6, 100, "MostShare"}, {20, 20, "MostShare"},
		{1000, 100_000, ""}, {1001, 100_000, "MostMissing"}, {1001, 1001, "MostMissing"},
	} {
		if got := beyond(c.missing, c.all, DefaultMostMissing, DefaultMostShare); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.missing, c.all, got, c.want)
		}
	}
}
