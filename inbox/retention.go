package inbox

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Retention says how long the record of what was handled is kept. Its zero value
// keeps everything, unless the source declares its own retention. A duration that is
// zero has the default that its comment names.
type Retention struct {
	// Window is the age after which the inbox row of a message that is done or
	// discarded goes, with its attempts. A message that comes back after that is
	// applied again. Default: computed, a tenth (an hour at least) above the least that
	// is allowed.
	Window time.Duration
	// SourceRetention is the longest time for which the source can deliver a message
	// again, counted from when it was published: what the broker keeps at the most, with
	// replays, and with the time by which it removes late. Default: what the
	// Source declares by a method TopicRetention(topic string) time.Duration, or
	// Retention() time.Duration for all; where it declares none, nothing is pruned.
	SourceRetention time.Duration
	// DeadLetters is the age after which a closed letter goes, with its audit rows. One
	// whose message waits again, is dead again or was discarded stays with the
	// message's row. Default: seven days.
	DeadLetters time.Duration
	// OpenLetters is the age after which a letter goes that nobody has decided on, with
	// the row of its message: it is lost then. Longer than the source and the retries
	// take. What is due only because of that (an older letter of the message) goes with
	// the next round. Default: never.
	OpenLetters time.Duration
	// Off leaves pruning to somebody else, as to headrace prune.
	Off bool
}

// DefaultDeadLetters is Retention's default for DeadLetters.
const DefaultDeadLetters = 7 * 24 * time.Hour

// longest is more than anybody means.
const longest = 100 * 365 * 24 * time.Hour

// ErrWindow matches the refusal of a Retention under which a message could come back
// after its record is gone (invariant 17).
var ErrWindow = errors.New("retention is too short")

// ErrSourceRetention matches the refusal of a Retention that does not say for how long
// the source can deliver a message again.
var ErrSourceRetention = errors.New("the source's retention is not known")

// Plan is a Retention that was checked: the ages after which rows go.
type Plan struct {
	// Window is the age at which messages that are done or discarded go.
	Window time.Duration
	// DeadLetters is the age at which closed letters go.
	DeadLetters time.Duration
	// OpenLetters is the age at which open letters go; 0 means never.
	OpenLetters time.Duration
}

// Validate returns an error that names the first field that cannot be meant, or nil.
func (r Retention) Validate() error {
	for _, f := range []struct {
		name string
		d    time.Duration
	}{
		{"Window", r.Window}, {"SourceRetention", r.SourceRetention},
		{"DeadLetters", r.DeadLetters}, {"OpenLetters", r.OpenLetters},
	} {
		switch {
		case f.d < 0:
			return fmt.Errorf("%s is negative (%s): 0 gives the default", f.name, f.d)
		case f.d > 0 && f.d < time.Millisecond:
			return fmt.Errorf("%s is %s: give it a unit, as in 24*time.Hour", f.name, f.d)
		case f.d > longest:
			return fmt.Errorf("%s is %s: more than %s is a mistake", f.name, f.d, longest)
		}
	}
	return nil
}

// Plan computes what may go when: Window must exceed SourceRetention, retries (the
// longest time that a message is retried: retry.Policy.Span) and DeadLetters together,
// and OpenLetters the first two; the error matches ErrWindow where one does not, and
// names the sum and its parts. Without SourceRetention it matches ErrSourceRetention.
// Plan is pure.
func (r Retention) Plan(retries time.Duration) (Plan, error) {
	if err := r.Validate(); err != nil {
		return Plan{}, err
	}
	if r.SourceRetention == 0 {
		return Plan{}, ErrSourceRetention
	}
	p := Plan{Window: r.Window, DeadLetters: r.DeadLetters, OpenLetters: r.OpenLetters}
	if p.DeadLetters == 0 {
		p.DeadLetters = DefaultDeadLetters
	}
	back := []part{{r.SourceRetention, "of the source"}, {retries, "of retries"}}
	all := append(back, part{p.DeadLetters, "of closed letters"})
	least := sum(all)
	switch {
	case least > longest:
		return Plan{}, fmt.Errorf("%w: no window exceeds %s", ErrWindow, terms(all))
	case p.Window == 0:
		p.Window = least + max(least/10, time.Hour)
	case p.Window <= least:
		return Plan{}, fmt.Errorf("%w: Window is %s and must exceed %s; leave it 0 to have it computed", ErrWindow, p.Window, terms(all))
	}
	if p.OpenLetters != 0 && p.OpenLetters <= sum(back) {
		return Plan{}, fmt.Errorf("%w: OpenLetters is %s and must exceed %s: the message could come back", ErrWindow, p.OpenLetters, terms(back))
	}
	return p, nil
}

// part is a term of the least window.
type part struct {
	d  time.Duration
	of string
}

func sum(parts []part) (total time.Duration) {
	for _, p := range parts {
		if total > math.MaxInt64-p.d {
			return math.MaxInt64
		}
		total += p.d
	}
	return total
}

func terms(parts []part) string {
	var texts []string
	for _, p := range parts {
		texts = append(texts, fmt.Sprintf("%s %s", p.d, p.of))
	}
	return fmt.Sprintf("%s (%s)", sum(parts), strings.Join(texts, " + "))
}
