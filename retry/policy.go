package retry

import "time"

// Policy says how often and how far apart a message is tried. The zero value means
// the documented defaults. It is a value: copy it, and share it between goroutines
// as long as nobody writes to Overrides.
type Policy struct {
	// MaxAttempts is how many attempts a message has, the first included, over all
	// classes of failure. 1 means no retry. Default: 10. At most 1,000,000.
	MaxAttempts int
	// Immediate is how many failures are followed by another attempt at once, in the
	// same place, before the first delay. 0 means none. Below MaxAttempts.
	Immediate int
	// Backoff is the delay between the attempts that are not immediate.
	Backoff Backoff
	// Overrides replace parts of the policy for failures of a class: Transient,
	// Timeout or Panic. May be nil.
	Overrides map[Class]Override
}

// Override is what holds instead for failures of one class.
type Override struct {
	// MaxAttempts gives a message up when the attempt of this number fails in this
	// class; attempts of other classes count too. 0 means Policy.MaxAttempts, and
	// more than that is refused.
	MaxAttempts int
	// Immediate replaces Policy.Immediate, also where it is 0.
	Immediate int
	// Backoff replaces Policy.Backoff; the zero value leaves it.
	Backoff Backoff
}

// defaultMaxAttempts spans eight and a half minutes with the default Backoff.
const defaultMaxAttempts = 10

// Action is what follows a failed attempt.
type Action int

// The actions.
const (
	// Now: run the handler again at once.
	Now Action = iota + 1
	// Later: put the message off by Decision.Delay.
	Later
	// Never: give the message up.
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

// Decision is a policy's answer to a failure.
type Decision struct {
	Action Action
	// Delay is how long to wait where Action is Later; may be 0.
	Delay time.Duration
}

// WithDefaults returns p with its zero fields filled in. Overrides stay as they are.
func (p Policy) WithDefaults() Policy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = defaultMaxAttempts
	}
	p.Backoff = p.Backoff.withDefaults()
	return p
}

// Decide says what follows the failure err of the given class (see Classify).
// attempt is how many attempts the message has spent, this one included; less than
// 1 counts as 1. seed is the message's key: see Backoff.Delay.
//
// Never: err is Permanent, or the attempts are spent. Otherwise the delay of After
// holds where err has one; then the immediate attempts, then the backoff. Decide is
// pure. p should have passed Validate.
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

// forClass returns the policy that holds for failures of class.
func (p Policy) forClass(class Class) Policy {
	p = p.WithDefaults()
	o, ok := p.Overrides[class]
	if !ok {
		return p
	}
	if o.MaxAttempts != 0 {
		p.MaxAttempts = o.MaxAttempts
	}
	p.Immediate = o.Immediate
	if o.Backoff != (Backoff{}) {
		p.Backoff = o.Backoff.withDefaults()
	}
	return p
}
