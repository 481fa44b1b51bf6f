package flow

import (
	"fmt"
	"time"
)

// Time is an option that is a duration. 0 gives the default, and is allowed.
type Time struct {
	// Name is the option's, with that of its struct if the package has several.
	Name  string
	Value time.Duration
	// Least and Most bound Value; a Least of 0 is a millisecond, a Most of 0 an hour.
	Least, Most time.Duration
}

// Times returns an error that names the first option outside of its bounds.
func Times(options ...Time) error {
	for _, o := range options {
		least, most := max(o.Least, time.Millisecond), o.Most
		if most == 0 {
			most = time.Hour
		}
		switch {
		case o.Value == 0 || o.Value >= least && o.Value <= most:
		case o.Value > 0 && o.Value < time.Microsecond: // a number without a unit
			return fmt.Errorf("option %s is %s: give it a unit, as in 10*time.Second", o.Name, o.Value)
		default:
			return fmt.Errorf("option %s is %s: it may be %s to %s, or 0 for the default", o.Name, o.Value, least, most)
		}
	}
	return nil
}
