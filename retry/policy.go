package retry

import (
	"cmp"
	"time"
)

// Policy says how often and how far apart a message is tried. The zero value means the
// documented defaults. It is a value: copy it. Goroutines may share it while no goroutine
// writes to Overrides.
type Policy struct {
	// MaxAttempts is how many attempts a message has, including the first, over all
	// classes of failure. 1 means no retry. Default: 10. At most 1,000,000.
	MaxAttempts int
	// Immediate is how many failures are followed by another attempt without a delay,
	// before the first delay. 0 means none. Below MaxAttempts.
	Immediate int
	// Backoff is the delay between the attempts that are not immediate. If Immediate leaves
	// none, it has no effect.
	Backoff Backoff
	// MaxPostpone is how long a message may be postponed (see Postpone) without an
	// attempt in between; then it has failed, and if the outcome of one of its steps is unknown
	// (package ledger), it is a dead letter of class parked. Default: 24 hours. At most MaxDelay.
	MaxPostpone time.Duration
	// Overrides replace parts of the policy for failures of a class: Transient, Timeout,
	// Panic or, for a leased handler, Lost, of which it takes three to make a dead letter,
	// whatever MaxAttempts says. May be nil.
	Overrides map[Class]Override
}

// Override replaces parts of the policy for failures of one class.
type Override struct {
	// MaxAttempts makes a message a dead letter when the attempt of this number fails in
	// this class; attempts of other classes count too. 0 means Policy.MaxAttempts; a
	// larger number is an error.
	MaxAttempts int
	// Immediate replaces Policy.Immediate, also if it is 0.
	Immediate int
	// Backoff replaces Policy.Backoff, unless it is zero.
	Backoff Backoff
}

// defaultMaxAttempts spans eight and a half minutes with the default Backoff.
const defaultMaxAttempts = 10

const defaultMaxPostpone = 24 * time.Hour

// Action is what to do after a failed attempt.
type Action int

// The actions.
const (
	// Now: run the handler again at once.
	Now Action = iota + 1
	// Later: run the message again after Decision.Delay.
	Later
	// Never: make the message a dead letter.
	Never
)

// String names the action for logs.
func (a Action) String() string {
	switch a {
	case Now:
		return "now"
	case Later:
		return "later"
	case Never:
		return "never"
	}
	return "none"
}

// Decision is a policy's result for a failure.
type Decision struct {
	Action Action
	// Delay is how long to wait if Action is Later; may be 0.
	Delay time.Duration
}

// WithDefaults returns p with defaults in its zero fields. Overrides stay as they are.
func (p Policy) WithDefaults() Policy {
	p.MaxAttempts = cmp.Or(p.MaxAttempts, defaultMaxAttempts)
	p.MaxPostpone = cmp.Or(p.MaxPostpone, defaultMaxPostpone)
	p.Backoff = p.Backoff.withDefaults()
	return p
}

// Decide returns what to do after the failure err of the given class (see Classify).
// attempt is how many attempts the message has spent, including this one; less than 1
// counts as 1. seed is the message's key: see Backoff.Delay.
//
// The action is Never if err is Permanent or the attempts are spent. Otherwise the delay
// of After is used if err has one; then the immediate attempts, then the backoff. Decide
// is pure. p should have passed Validate.
func (p Policy) Decide(err error, class Class, attempt int, seed string) Decision {
	attempt = max(attempt, 1)
	p = p.forClass(class)
	if class == PermanentFailure || IsPermanent(err) || attempt >= p.MaxAttempts {
		return Decision{Action: Never}
	}
	if delay, ok := delayOf(err); ok {
		return Decision{Action: Later, Delay: delay}
	}
	if attempt <= p.Immediate {
		return Decision{Action: Now}
	}
	return Decision{Action: Later, Delay: p.Backoff.Delay(attempt-p.Immediate, seed)}
}

// forClass returns the policy for failures of class.
func (p Policy) forClass(class Class) Policy {
	p = p.WithDefaults()
	o, ok := p.Overrides[class]
	if !ok {
		return p
	}
	p.MaxAttempts = cmp.Or(o.MaxAttempts, p.MaxAttempts)
	p.Immediate = o.Immediate
	if o.Backoff != (Backoff{}) {
		p.Backoff = o.Backoff.withDefaults()
	}
	return p
}
