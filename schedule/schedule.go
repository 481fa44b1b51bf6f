package schedule

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/encode"
)

// CatchUp says what becomes of ticks that were due while no process ran.
type CatchUp string

// The ways to catch up.
const (
	// Last makes the newest one only.
	Last CatchUp = "last"
	// All makes each of them, oldest first.
	All CatchUp = "all"
)

// Schedule is a calendar.
type Schedule struct {
	// Name is the topic of its ticks and part of their ids. It is unique in the database.
	// Required.
	Name string
	// Cron has the five fields minute, hour, day of month, month and day of week, or is one
	// of @hourly, @daily, @weekly, @monthly and @yearly. Required; see Next.
	Cron string
	// Zone is an IANA name, as "Europe/Berlin". Default: UTC. A program that runs where no
	// zone data are installed imports time/tzdata.
	Zone string
	// CatchUp says what becomes of ticks that were due while no process ran. Default: Last.
	CatchUp CatchUp
	// Within is how old a tick may be that is caught up. Default: the longest distance
	// between two of the next ticks, 24 h at least and 35 days at most.
	Within time.Duration
}

// The bounds of the default of Within.
const (
	leastWithin   = 24 * time.Hour
	longestWithin = 35 * 24 * time.Hour
)

// maxName is the longest name, in bytes: an id adds a time to it.
const maxName = 200

// known is a Schedule with its defaults and its calendar.
type known struct {
	Schedule
	calendar *calendar
	handled  bool // the Source's mu protects it
}

// parse checks a Schedule.
func (s Schedule) parse() (*known, error) {
	if s.Zone == "" {
		s.Zone = "UTC"
	}
	if s.CatchUp == "" {
		s.CatchUp = Last
	}
	if err := encode.Topic("Name", s.Name); err != nil {
		return nil, err
	}
	c, err := newCalendar(s.Cron, s.Zone)
	switch {
	case len(s.Name) > maxName:
		return nil, fmt.Errorf("the Name has %d bytes, more than %d", len(s.Name), maxName)
	case err != nil:
		return nil, err
	case s.CatchUp != Last && s.CatchUp != All:
		return nil, fmt.Errorf("the CatchUp %q is unknown: it is Last or All", s.CatchUp)
	case s.Within < 0 || s.Within > 0 && s.Within < time.Second:
		return nil, fmt.Errorf("the Within %s is too short: give it a unit, as in time.Hour", s.Within)
	}
	now := time.Now()
	first := c.next(now)
	if first.IsZero() {
		return nil, errors.New("the Cron has no tick in five years")
	}
	if s.Within == 0 {
		s.Within = leastWithin
		for a, n := first, 0; n < 50 && !a.IsZero(); n++ {
			b := c.next(a)
			if !b.IsZero() {
				s.Within = min(max(s.Within, b.Sub(a)), longestWithin)
			}
			a = b
		}
	}
	return &known{Schedule: s, calendar: c}, nil
}

// ID is the id of a tick's message: the name, and its time in UTC.
func ID(name string, at time.Time) string { return name + "@" + at.UTC().Format(time.RFC3339) }

// Next returns the first tick after a time; zero if there is none in five years. An invalid
// expression or an unknown zone is an error.
//
// If neither minute nor hour has a star or a step, they are times of day: each comes once a
// day, also on the days on which clocks change. A time that comes twice is the first of the
// two, and one that does not exist is moved by the gap. Any other expression names the
// instants whose wall clock fits, so an hour that comes twice has its ticks twice. As in cron,
// a day of month and a day of week that are both given mean either.
func Next(cron, zone string, after time.Time) (time.Time, error) {
	c, err := newCalendar(cron, zone)
	if err != nil {
		return time.Time{}, err
	}
	return c.next(after), nil
}
