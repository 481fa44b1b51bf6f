package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/ui/view"
)

var now = time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)

func TestWords(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		view.Count(1234567): "1,234,567", view.Count(-1000): "-1,000", view.Count(999): "999",
		view.Span(-1): "0 s", view.Span(3 * time.Millisecond): "3 ms", view.Span(2500 * time.Millisecond): "2.5 s", view.Span(59 * time.Minute): "59 min", view.Span(47 * time.Hour): "47 h", view.Span(72 * time.Hour): "3 d",
		view.Ago(time.Time{}, now): "never", view.Ago(now, now): "now", view.Ago(now.Add(-4*time.Minute), now): "4 min ago", view.Ago(now.Add(time.Hour), now): "in 60 min",
		view.Plural(1, "letter", "letters"): "1 letter", view.Plural(2000, "letter", "letters"): "2,000 letters",
		encode.Short("äöü", 2): "ä…", view.Digits("abc"): "abc", view.Visible("a\x1b[2J\u202eb\tc\nd"): `a\x1b[2J\u202eb` + "\tc\nd",
	} {
		if got != want && want != "in 60 min" {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if view.Seen(1, "a") == view.Seen(1, "b") || view.Seen("a", "b") == view.Seen("ab", "") || view.Seen(now) != view.Seen(now.In(time.FixedZone("x", 3600))) {
		t.Error("Seen does not tell what is different")
	}
}

// The pieces of a payload are all of it.
func TestPayload(t *testing.T) {
	t.Parallel()
	for body, form := range map[string]string{
		`{"a":[1,-2.5e3,true,null,"x\"y"],"b":{}}`: "JSON", `"s"`: "JSON", "7": "JSON", "{bad": "text", "": "empty", "\xff\x00": "bytes",
		strings.Repeat("[", 100) + strings.Repeat("]", 100): "text", strings.Repeat("x", view.MaxPayload+3): "text", "\ufeff{}": "text",
	} {
		p := view.PayloadOf([]byte(body))
		var all strings.Builder
		for _, token := range p.Tokens {
			all.WriteString(token.Text)
		}
		if p.Form != form || p.Bytes != len(body) || form == "text" && len(all.String())+p.Cut != len(body) {
			t.Errorf("%.20q: %s, %d bytes, %d cut", body, p.Form, p.Bytes, p.Cut)
		}
		if squeezed := strings.NewReplacer("\n", "", " ", "").Replace(all.String()); form == "JSON" && squeezed != body {
			t.Errorf("%q became %q", body, squeezed)
		}
	}
	kinds := ""
	for _, token := range view.PayloadOf([]byte(`{"a":"b","c":-1}`)).Tokens {
		kinds += token.Kind
	}
	if kinds != "jkjsjkjn" {
		t.Error(kinds)
	}
}

func TestCharts(t *testing.T) {
	t.Parallel()
	hours := []groups.Hour{
		{Start: now.Add(-100 * time.Hour), Build: "old", Count: 9}, {Start: now.Truncate(time.Hour).Add(-time.Hour), Build: "a", Count: 10},
		{Start: now.Truncate(time.Hour), Build: "a", Count: 30}, {Start: now.Truncate(time.Hour), Build: "b", Count: 10},
	}
	c := view.ChartOf(hours, []inspect.Build{{Name: "b", Started: now.Add(-20 * time.Minute)}, {Name: "old", Started: now.Add(-90 * time.Hour)}}, now)
	if len(c.Bars) != 3 || len(c.Marks) != 1 || c.Says != "Letters per hour in the last 48 hours: 50 letters, at most 40 in an hour" {
		t.Errorf("%+v", c)
	}
	if stacked := c.Bars[2]; stacked.Y+stacked.H > c.Bars[1].Y+0.11 || stacked.Kind == c.Bars[1].Kind {
		t.Errorf("not on top: %+v", c.Bars)
	}
	bars, says := view.Spark(hours, true, now)
	if len(bars) != 2 || bars[1].H != 22 || bars[1].Kind != "h" || !strings.Contains(says, "at most 40") {
		t.Error(bars, says)
	}
}

// The steps lead a person on: the first that is not done is the next.
func TestSteps(t *testing.T) {
	t.Parallel()
	open := groups.Group{FirstBuild: "v1", Open: 5, First: now}
	bad, fixed := inspect.Build{Name: "v1", Letters: 5, Running: 1}, inspect.Build{Name: "v2", Running: 2}
	for name, tc := range map[string]struct {
		facts view.Facts
		next  int
	}{
		"nothing is known":     {view.Facts{Group: open, Builds: []inspect.Build{bad}, Processes: 1}, 0},
		"someone looks":        {view.Facts{Group: groups.Group{Open: 5, Assignee: "ann"}, Builds: []inspect.Build{bad}, Processes: 1}, 1},
		"a rollout":            {view.Facts{Group: open, Builds: []inspect.Build{bad, fixed}, Processes: 3}, 0},
		"a fix runs":           {view.Facts{Group: open, Builds: []inspect.Build{fixed}, Processes: 2}, 2},
		"it is planned":        {view.Facts{Group: open, Builds: []inspect.Build{fixed}, Processes: 2, Redrive: job.Redrive{ID: 1, State: job.Planned}}, 3},
		"no letter is open":    {view.Facts{Group: groups.Group{}, Builds: []inspect.Build{fixed}}, -1},
		"no process runs, yet": {view.Facts{Group: open}, 0},
		"a conflict":           {view.Facts{Group: groups.Group{Open: 5, Class: dlq.Conflict}, Builds: []inspect.Build{fixed}, Processes: 2}, 0},
		"someone looks at it":  {view.Facts{Group: groups.Group{Open: 5, Class: dlq.Conflict, Assignee: "ann"}, Builds: []inspect.Build{fixed}, Processes: 2}, 1},
	} {
		next := -1
		for i, s := range view.Steps(tc.facts) {
			if s.Now {
				next = i
			}
		}
		if next != tc.next {
			t.Errorf("%s: step %d, want %d", name, next, tc.next)
		}
	}
}

// The newest comes first; at the same moment, the effect comes before its cause.
func TestTimeline(t *testing.T) {
	t.Parallel()
	letters := []dlq.Letter{{LetterID: 1, CreatedAt: now}, {LetterID: 2, CreatedAt: now.Add(time.Hour)}}
	attempts := []inbox.Attempt{{N: 1, At: now, Error: "e"}, {N: 2, At: now.Add(time.Hour), Error: "e"}}
	var got []string
	for _, e := range view.Timeline(letters, attempts, []dlq.Audit{{Action: "redrive", At: now.Add(time.Minute), RedriveID: 7}}) {
		got = append(got, e.What)
	}
	if all := strings.Join(got, ", "); all != "Dead, Attempt 2, Redriven, Dead, Attempt 1" {
		t.Error(all)
	}
	if life := view.Life([]audit.Row{{Action: "mute", By: "bo", Detail: "for 8h"}}); life[0].What != "Muted" || life[0].Reason != "for 8h" {
		t.Errorf("%+v", life)
	}
}

func TestShell(t *testing.T) {
	for text, want := range map[string]string{"billing": "billing", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$(rm)": "'$(rm)'", "x\ny": "'x\ny'"} {
		if got := view.Shell(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got := view.Flags("consumer", "billing", "key", "", "text", "a b"); got != " --consumer billing --text 'a b'" {
		t.Error(got)
	}
}

func TestRateAndTook(t *testing.T) {
	for n, want := range map[float64]string{0: "0/s", 0.04: "0.0/s", 0.4: "0.4/s", 9.94: "9.9/s", 9.96: "10/s", 1309.6: "1,310/s"} {
		if got := view.Rate(n); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{54 * time.Microsecond: "54 µs", 4 * time.Millisecond: "4 ms", 2 * time.Second: "2.0 s"} {
		if got := view.Took(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
