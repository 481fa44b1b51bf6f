package schedule_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/headrace/headrace/schedule"
)

func next(t *testing.T, cron, zone string, after time.Time) time.Time {
	t.Helper()
	at, err := schedule.Next(cron, zone, after)
	if err != nil {
		t.Fatalf("%s %s: %v", cron, zone, err)
	}
	return at
}

// The next ticks, on plain days and on those on which clocks change.
//
//evidence:schedule
func TestNext(t *testing.T) {
	t.Parallel()
	const layout = "2006-01-02 15:04 -0700"
	for _, c := range []struct{ cron, zone, after, want string }{
		{"30 2 * * *", "UTC", "2026-01-01 02:29", "2026-01-01 02:30 +0000"},
		{"30 2 * * *", "UTC", "2026-01-01 02:30", "2026-01-02 02:30 +0000"},
		{"@daily", "UTC", "2026-02-28 00:00", "2026-03-01 00:00 +0000"},
		{"@hourly", "UTC", "2026-02-28 23:59", "2026-03-01 00:00 +0000"},
		{"@weekly", "UTC", "2026-11-24 00:00", "2026-11-29 00:00 +0000"},
		{"0 0 29 2 *", "UTC", "2026-01-01 00:00", "2028-02-29 00:00 +0000"},
		{"0 0 13 * 5", "UTC", "2026-11-01 00:00", "2026-11-06 00:00 +0000"}, // the 13th or a Friday
		{"0 0 * * 1-5", "UTC", "2026-11-27 00:00", "2026-11-30 00:00 +0000"},
		{"0 9,17 * * *", "UTC", "2026-11-27 09:00", "2026-11-27 17:00 +0000"},
		{"*/15 * * * *", "UTC", "2026-11-27 09:01", "2026-11-27 09:15 +0000"},
		// New York, spring: 02:30 does not exist on March 8th, and is moved by the gap.
		{"30 2 * * *", "America/New_York", "2026-03-07 12:00", "2026-03-08 03:30 -0400"},
		{"30 2 * * *", "America/New_York", "2026-03-08 03:30", "2026-03-09 02:30 -0400"},
		// Autumn: 01:30 is there twice on November 1st, and comes at the first.
		{"30 1 * * *", "America/New_York", "2026-10-31 12:00", "2026-11-01 01:30 -0400"},
		{"30 1 * * *", "America/New_York", "2026-11-01 01:30", "2026-11-02 01:30 -0500"},
		// An interval names instants: the hour that comes twice has its ticks twice.
		{"*/30 1 * * *", "America/New_York", "2026-11-01 01:29", "2026-11-01 01:30 -0400"},
		// São Paulo's midnight did not exist on November 4th, 2018.
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00", "2018-11-04 01:00 -0200"},
		{"0 0 * * *", "America/Sao_Paulo", "2018-11-04 01:00", "2018-11-05 00:00 -0200"},
		// Two times that fall on one instant are one tick.
		{"30 2,3 * * *", "America/New_York", "2026-03-08 03:30", "2026-03-09 02:30 -0400"},
		// Lord Howe changes by half an hour.
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00", "2026-10-04 02:45 +1100"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		after, err := time.ParseInLocation("2006-01-02 15:04", c.after, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := next(t, c.cron, c.zone, after).In(zone).Format(layout); got != c.want {
			t.Errorf("%s %s after %s: %s, not %s", c.cron, c.zone, c.after, got, c.want)
		}
	}
}

// A time of day comes once a day, on each day of twenty years; but for the day that Samoa
// did not have.
//
//evidence:schedule
func TestOnceADay(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{
		"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca", "Pacific/Apia",
	} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, clock := range []string{"0 0", "30 1", "30 2", "59 23"} {
			t.Run(zone+" "+clock, func(t *testing.T) {
				t.Parallel()
				at, end := time.Date(2008, 1, 1, 0, 0, 0, 0, location).Add(-time.Nanosecond), time.Date(2028, 1, 1, 0, 0, 0, 0, location)
				day := time.Date(2008, 1, 1, 0, 0, 0, 0, time.UTC)
				for ; ; day = day.AddDate(0, 0, 1) {
					if zone == "Pacific/Apia" && day.Format(time.DateOnly) == "2011-12-30" {
						continue
					}
					if at = next(t, clock+" * * *", zone, at); !at.Before(end) {
						break
					}
					if got := at.In(location).Format(time.DateOnly); got != day.Format(time.DateOnly) {
						t.Fatalf("the tick after %s is on %s", day.AddDate(0, 0, -1).Format(time.DateOnly), got)
					}
				}
			})
		}
	}
}

// The hour that comes twice has an interval's ticks twice, the one that does not exist none.
func TestIntervals(t *testing.T) {
	t.Parallel()
	for start, want := range map[string]string{
		"2026-11-01T05:00:00Z": "05:30 06:00 06:30", "2026-03-08T06:00:00Z": "06:30 07:00 07:30",
	} {
		at, err := time.Parse(time.RFC3339, start)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range 3 {
			at = next(t, "*/30 * * * *", "America/New_York", at)
			got = append(got, at.UTC().Format("15:04"))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("after %s: %s", start, s)
		}
	}
}

// Bad expressions and zones are refused with what is wrong.
func TestBadSchedules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cron, zone, want string }{
		{"", "UTC", "fields"}, {"* * * *", "UTC", "fields"}, {"0 0 0 1 1 *", "UTC", "fields"}, {"61 * * * *", "UTC", "Cron"}, {"x * * * *", "UTC", "Cron"},
		{"@every 90s", "UTC", "fields"}, {"@reboot", "UTC", "fields"}, {"TZ=UTC 0 0 * * *", "UTC", "fields"}, {"0 0 * * *", "Mars/Olympus", "Zone"}, {"0 0 * * *", "Local", "Zone"},
		{"0 0 L * *", "UTC", "Cron"}, {"0 0 * * FRI#3", "UTC", "Cron"},
	} {
		if _, err := schedule.Next(c.cron, c.zone, time.Now()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v", c.cron, c.zone, err)
		}
	}
	if at := next(t, "0 0 30 2 *", "UTC", time.Now()); !at.IsZero() {
		t.Errorf("February 30th is %s", at)
	}
}

func TestID(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 2, 30, 0, 0, time.FixedZone("", 3600))
	if got := schedule.ID("nightly", at); got != "nightly@2026-11-22T01:30:00Z" {
		t.Error(got)
	}
}
