package retry

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// maxAttempts bounds Policy.MaxAttempts: a number above it is a mistake.
const maxAttempts = 1_000_000

// Validate returns an error that names the first invalid field, or nil. It applies the
// defaults first.
func (p Policy) Validate() error {
	p = p.WithDefaults()
	if err := validateCounts("", p.MaxAttempts, p.Immediate); err != nil {
		return err
	}
	switch {
	case p.MaxPostpone < 0:
		return fmt.Errorf("retry: MaxPostpone is negative (%s)", p.MaxPostpone)
	case p.MaxPostpone > MaxDelay:
		return fmt.Errorf("retry: MaxPostpone (%s) is above %s", p.MaxPostpone, MaxDelay)
	}
	if err := p.Backoff.validate("Backoff"); err != nil {
		return err
	}
	for _, class := range slices.Sorted(maps.Keys(p.Overrides)) {
		if err := p.validateOverride(class); err != nil {
			return err
		}
	}
	return nil
}

func (p Policy) validateOverride(class Class) error {
	field := fmt.Sprintf("Overrides[%q]", string(class))
	switch class {
	case Transient, Timeout, Panic, Lost:
	case PermanentFailure:
		return fmt.Errorf("retry: %s: a permanent failure is never retried", field)
	default:
		return fmt.Errorf("retry: %s: unknown class; there are %q, %q, %q and %q", field, Transient, Timeout, Panic, Lost)
	}
	if o := p.Overrides[class]; o.MaxAttempts > p.MaxAttempts {
		return fmt.Errorf("retry: %s.MaxAttempts (%d) is above MaxAttempts (%d)", field, o.MaxAttempts, p.MaxAttempts)
	}
	merged := p.forClass(class)
	if err := validateCounts(field+".", merged.MaxAttempts, merged.Immediate); err != nil {
		return err
	}
	return merged.Backoff.validate(field + ".Backoff")
}

func validateCounts(prefix string, attempts, immediate int) error {
	switch {
	case attempts < 0:
		return fmt.Errorf("retry: %sMaxAttempts is negative (%d)", prefix, attempts)
	case attempts > maxAttempts:
		return fmt.Errorf("retry: %sMaxAttempts (%d) is above %d", prefix, attempts, maxAttempts)
	case immediate < 0:
		return fmt.Errorf("retry: %sImmediate is negative (%d)", prefix, immediate)
	case immediate >= attempts:
		return fmt.Errorf("retry: %sImmediate (%d) is not below MaxAttempts (%d)", prefix, immediate, attempts)
	}
	return nil
}

func (b Backoff) validate(field string) error {
	switch {
	case b.Initial < 0:
		return fmt.Errorf("retry: %s.Initial is negative (%s)", field, b.Initial)
	case b.Max < 0:
		return fmt.Errorf("retry: %s.Max is negative (%s)", field, b.Max)
	case b.Initial > 0 && b.Initial < time.Microsecond:
		return fmt.Errorf("retry: %s.Initial is %s: give it a unit, as in time.Second", field, b.Initial)
	case b.Max < b.Initial:
		return fmt.Errorf("retry: %s.Max (%s) is below %s.Initial (%s)", field, b.Max, field, b.Initial)
	case b.Max > MaxDelay:
		return fmt.Errorf("retry: %s.Max (%s) is above %s", field, b.Max, MaxDelay)
	case !(b.Factor >= 1 && b.Factor <= math.MaxFloat64): // also not for NaN
		return fmt.Errorf("retry: %s.Factor (%v) is not a finite number from 1 up", field, b.Factor)
	case !(b.Jitter >= 0 && b.Jitter <= 1):
		return fmt.Errorf("retry: %s.Jitter (%v) is not from 0 to 1", field, b.Jitter)
	}
	return nil
}
