package main

import (
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
)

// Bad input 55.
func TestParseTime(t *testing.T) {
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"":                          {},
		"24h":                       now.Add(-24 * time.Hour),
		"7d":                        now.AddDate(0, 0, -7),
		"90m":                       now.Add(-90 * time.Minute),
		"2026-03-29T02:30:00+01:00": time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC), // a gap of Berlin's clocks; the offset says which
	} {
		got, err := parseTime("since", in, now)
		if err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"tomorrow", "30", "-24h", "0s", "2026-02-30T00:00:00Z", "2026-03-29", "2026-03-29T02:30:00", "d", "1.5d", "9999999999d", "-1d"} {
		if got, err := parseTime("since", in, now); err == nil {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func filterOf(args ...string) (dlq.Filter, bool, error) {
	c := &cobra.Command{Use: "x"}
	f := addFilter(c)
	f.addState()
	if err := c.ParseFlags(args); err != nil {
		return dlq.Filter{}, false, err
	}
	filter, err := f.parse(time.Now())
	return filter, f.given(), err
}

func TestFilter(t *testing.T) {
	filter, given, err := filterOf("--consumer", "billing", "--class", "conflict", "--state", "any")
	if err != nil || !given || filter.Consumer != "billing" || filter.Class != dlq.Conflict || !filter.AnyState {
		t.Errorf("%+v, %v, %v", filter, given, err)
	}
	if filter, given, err := filterOf("--state", "redriven"); err != nil || given || filter.State != dlq.Redriven {
		t.Errorf("a state narrows nothing: %+v, %v, %v", filter, given, err)
	}
	for _, args := range [][]string{
		{"--class", "bad"},
		{"--class", ""},
		{"--state", "lost"},
		{"--since", "1h", "--until", "2h"},
	} {
		if filter, _, err := filterOf(args...); err == nil {
			t.Errorf("%q: %+v", args, filter)
		}
	}
}

// Bad input 53.
func TestLimit(t *testing.T) {
	l := &limit{most: 100}
	for _, s := range []string{"0", "-1", "1e9", "101", "", "99999999999999999999", "NaN"} {
		if l.Set(s) == nil {
			t.Errorf("%q is taken", s)
		}
	}
	if err := l.Set("100"); err != nil || l.n != 100 {
		t.Error(l.n, err)
	}
}
