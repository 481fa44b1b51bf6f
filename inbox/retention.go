package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/encode"
)

// Retention says how long records of handled messages are kept. Its zero value keeps
// everything, unless the source declares its own retention.
type Retention struct {
	// Window is the age at which the inbox row of a done or discarded message is removed,
	// with its attempts. A message that comes back after that is applied again. Default:
	// the minimum plus a tenth (at least an hour).
	Window time.Duration
	// SourceRetention is the longest time for which the source can deliver a message
	// again, counted from when it was published, including replays and late removal.
	// Default: the Source's declaration by a method TopicRetention(topic string)
	// time.Duration, or Retention() time.Duration for all topics; without one, nothing is
	// pruned.
	SourceRetention time.Duration
	// DeadLetters is the age at which a closed letter is removed, with its audit rows,
	// unless its message waits or is dead again, or was discarded. Default: seven days.
	DeadLetters time.Duration
	// OpenLetters is the age at which an open letter is removed, with the row of its
	// message: the message is lost then. It must exceed SourceRetention and the retries
	// together. Default: never.
	OpenLetters time.Duration
	// Off turns pruning off, for example if headrace prune does it. OpenLetters then only says
	// how long headrace prune keeps them, for alerts, and the other fields are refused.
	Off bool
}

// DefaultDeadLetters is Retention's default for DeadLetters.
const DefaultDeadLetters = 7 * 24 * time.Hour

// longest is longer than any sensible retention.
const longest = 100 * 365 * 24 * time.Hour

// ErrWindow matches the error of a Retention with which a message could come back after
// its record is gone (invariant 17).
var ErrWindow = errors.New("retention is too short")

// ErrSourceRetention matches the error of a Retention that does not say for how long the
// source can deliver a message again.
var ErrSourceRetention = errors.New("the source's retention is not known")

// Plan is a checked Retention: the ages at which rows are removed.
type Plan struct {
	Window      time.Duration // of messages that are done or discarded
	DeadLetters time.Duration // of closed letters
	OpenLetters time.Duration // of open letters; 0 means never
}

// Validate returns an error that names the first invalid field, or nil.
func (r Retention) Validate() error {
	for _, f := range []struct {
		name    string
		d       time.Duration
		withOff bool // it has an effect where pruning is off
	}{
		{"Window", r.Window, false}, {"SourceRetention", r.SourceRetention, false},
		{"DeadLetters", r.DeadLetters, false}, {"OpenLetters", r.OpenLetters, true},
	} {
		switch {
		case f.d < 0:
			return fmt.Errorf("%s is negative (%s): 0 gives the default", f.name, f.d)
		case f.d > 0 && f.d < time.Millisecond:
			return fmt.Errorf("%s is %s: give it a unit, as in 24*time.Hour", f.name, f.d)
		case f.d > longest:
			return fmt.Errorf("%s is %s: more than %s is a mistake", f.name, encode.Span(f.d), encode.Span(longest))
		case f.d > 0 && r.Off && !f.withOff:
			return fmt.Errorf("%s has no effect with Off: give it to headrace prune", f.name)
		}
	}
	return nil
}

// Plan computes the ages. Window must exceed the sum of SourceRetention, retries (the
// longest time that a message is retried: retry.Policy.Span) and DeadLetters, and
// OpenLetters that of the first two. Otherwise the error matches ErrWindow, and names the
// sum and its parts. Without SourceRetention it matches ErrSourceRetention.
func (r Retention) Plan(retries time.Duration) (Plan, error) {
	if err := r.Validate(); err != nil {
		return Plan{}, err
	}
	if r.SourceRetention == 0 {
		return Plan{}, ErrSourceRetention
	}
	p := Plan{Window: r.Window, DeadLetters: cmp.Or(r.DeadLetters, DefaultDeadLetters), OpenLetters: r.OpenLetters}
	back := r.SourceRetention + min(retries, longest)
	least := back + p.DeadLetters
	returns := fmt.Sprintf("%s of the source + %s of retries", encode.Span(r.SourceRetention), encode.Span(retries))
	all := fmt.Sprintf("%s (%s + %s of closed letters)", encode.Span(least), returns, encode.Span(p.DeadLetters))
	switch {
	case least > longest:
		return Plan{}, fmt.Errorf("%w: no window exceeds %s", ErrWindow, all)
	case p.Window == 0:
		p.Window = least + max(least/10, time.Hour)
	case p.Window <= least:
		return Plan{}, fmt.Errorf("%w: Window is %s and must exceed %s; leave it 0 to have it computed", ErrWindow, encode.Span(p.Window), all)
	}
	if p.OpenLetters != 0 && p.OpenLetters <= back {
		return Plan{}, fmt.Errorf("%w: OpenLetters is %s and must exceed %s (%s): the message could come back", ErrWindow, encode.Span(p.OpenLetters), encode.Span(back), returns)
	}
	return p, nil
}
