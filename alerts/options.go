package alerts

import (
	"cmp"
	"fmt"
	"time"
)

// Options limit how often alerts are sent. The zero value has the defaults that the
// fields name.
type Options struct {
	// Quiet is the least time between two alerts of one group (see Alert.Group). The
	// first is sent at once, and those that follow within Quiet as one, with their count.
	// At least 1 s, at most 12 h. Default 5 min. Paused and Resumed end each other, and
	// so do RelayStalled and RelayResumed, SubscriptionStalled and SubscriptionResumed. If
	// the opposite of the last one sent has lasted 5 s, it is sent within Quiet, if
	// PerMinute allows; if that happens again and again, after 1 min.
	Quiet time.Duration
	// PerMinute is how many alerts of dead letters a consumer sends in a minute at most,
	// over all its processes. It is also the limit for parked rows of a database, and for
	// a process's own alerts. If more groups are due, the last alert sums up the rest.
	// Default 10.
	PerMinute int
}

// Validate returns an error that names the invalid field.
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
	o.Quiet, o.PerMinute = cmp.Or(o.Quiet, 5*time.Minute), cmp.Or(o.PerMinute, 10)
	return o
}
