package alerts

import (
	"fmt"
	"time"
)

// Options say how often alerts are sent. The zero value has the defaults that the
// fields name.
type Options struct {
	// Quiet is the least time between two alerts of one group (see Alert.Group): the
	// first is sent at once, and those that follow within Quiet as one, which counts
	// them. At least 1 s, at most 12 h. Default 5 min. Paused and Resumed take each other
	// back, and so do RelayStalled and RelayResumed: where the last one sent is not true
	// any more the other goes out, as far as PerMinute lets it, when it has lasted 5 s,
	// or 1 min if that happens again and again.
	Quiet time.Duration
	// PerMinute is how many alerts of dead letters a consumer sends in a minute at
	// most, over all its processes, and likewise how many of parked rows a database
	// does, and how many of its own a process does. Where more groups are due, the
	// last of them sums up the rest. Default 10.
	PerMinute int
}

// Validate returns an error that names the field that cannot be meant.
func (o Options) Validate() error {
	switch {
	case o.Quiet != 0 && (o.Quiet < time.Second || o.Quiet > 12*time.Hour):
		return fmt.Errorf("option Quiet (%s) is not from 1s to 12h: 0 gives the default", o.Quiet)
	case o.PerMinute < 0 || o.PerMinute > 1000:
		return fmt.Errorf("option PerMinute (%d) is not from 1 to 1000: 0 gives the default", o.PerMinute)
	}
	return nil
}

// WithDefaults returns o with its zero fields filled.
func (o Options) WithDefaults() Options {
	if o.Quiet == 0 {
		o.Quiet = 5 * time.Minute
	}
	if o.PerMinute == 0 {
		o.PerMinute = 10
	}
	return o
}
