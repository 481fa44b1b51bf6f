package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

// calendar computes the ticks of an expression. The library parses it; what it makes of
// daylight saving is our own, since it skips days and fires twice.
type calendar struct {
	spec *cron.SpecSchedule
	zone *time.Location
	// times says that hour and minute are times of day.
	times bool
	// anyDay and anyWeekday say that the field is a star.
	anyDay, anyWeekday bool
}

// descriptors are the names of expressions.
var descriptors = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

func newCalendar(expression, zone string) (*calendar, error) {
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return nil, fmt.Errorf("the Zone %q is unknown here: give an IANA name, and import time/tzdata where no zone data are installed", zone)
	}
	if full, ok := descriptors[strings.TrimSpace(expression)]; ok {
		expression = full
	}
	fields := strings.Fields(expression)
	if len(fields) != 5 {
		return nil, fmt.Errorf("the Cron %q has %d fields, not five: minute, hour, day of month, month, day of week", expression, len(fields))
	}
	parsed, err := cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(expression)
	if err != nil {
		return nil, fmt.Errorf("the Cron %q: %w", expression, err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok || len(spec.DomConstraints)+len(spec.DowConstraints) > 0 {
		return nil, fmt.Errorf("the Cron %q is no plain expression of five fields", expression)
	}
	star := func(field string) bool { return field == "*" || field == "?" }
	return &calendar{
		spec: spec, zone: location, times: !strings.ContainsAny(fields[0]+fields[1], "*/?"), anyDay: star(fields[2]), anyWeekday: star(fields[4]),
	}, nil
}

// horizon is how far next looks, in days.
const horizon = 5*366 + 1

// next returns the first tick after a time.
func (c *calendar) next(after time.Time) time.Time {
	local := after.In(c.zone)
	// From the day before: a time that was moved by a gap may be of that day.
	for n := -1; n < horizon; n++ {
		day := time.Date(local.Year(), local.Month(), local.Day()+n, 0, 0, 0, 0, time.UTC) // a date, and no instant
		if !c.on(day) {
			continue
		}
		if at := c.first(day, after); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// on reports whether there are ticks on a date.
func (c *calendar) on(day time.Time) bool {
	if c.spec.Month&(1<<uint(day.Month())) == 0 {
		return false
	}
	dom, dow := c.spec.Dom&(1<<uint(day.Day())) != 0, c.spec.Dow&(1<<uint(day.Weekday())) != 0
	if !c.anyDay && !c.anyWeekday {
		return dom || dow
	}
	return dom && dow
}

// first returns the first tick of a date that is after a time.
func (c *calendar) first(day, after time.Time) (found time.Time) {
	keep := func(at time.Time) {
		if at.After(after) && (found.IsZero() || at.Before(found)) {
			found = at
		}
	}
	if c.times {
		for h := range 24 {
			for m := range 60 {
				if c.spec.Hour&(1<<uint(h)) != 0 && c.spec.Minute&(1<<uint(m)) != 0 {
					keep(c.instant(day.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute)))
				}
			}
		}
		return found
	}
	// The instants of a date are between those of its midnights, an hour more for gaps.
	end := c.instant(day.AddDate(0, 0, 1)).Add(time.Hour)
	start := c.instant(day).Add(-time.Hour)
	if after.After(start) {
		start = after.Truncate(time.Minute)
	}
	for at := start; !at.After(end); at = at.Add(time.Minute) {
		wall := at.In(c.zone)
		if wall.Day() == day.Day() && wall.Second() == 0 && c.spec.Hour&(1<<uint(wall.Hour())) != 0 && c.spec.Minute&(1<<uint(wall.Minute())) != 0 {
			if keep(at); !found.IsZero() {
				return found
			}
		}
	}
	return found
}

// instant is the time at which the wall clock of the zone shows wall, whose own zone does
// not count: the first of two, and moved by the gap where it does not exist.
func (c *calendar) instant(wall time.Time) time.Time {
	offset := func(at time.Time) time.Duration {
		_, seconds := at.In(c.zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	before, later := offset(wall.Add(-26*time.Hour)), offset(wall.Add(26*time.Hour))
	for _, o := range []time.Duration{max(before, later), min(before, later)} { // the earlier instant first
		if at := wall.Add(-o); offset(at) == o {
			return at.UTC()
		}
	}
	return wall.Add(-before).UTC()
}
