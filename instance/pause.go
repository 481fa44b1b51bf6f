package instance

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Pause is a person's mark that a consumer shall take no messages. It is kept after
// the consumer was resumed, until the next one.
type Pause struct {
	// Consumer is who shall take no messages; there may be no process of it.
	Consumer string
	// By is who paused it; Reason why, in that person's words, or ""; At when, by the
	// database's clock.
	By     string
	Reason string
	At     time.Time
	// ResumedBy and Resumed say who ended the pause, and when; empty and zero while it
	// lasts.
	ResumedBy string
	Resumed   time.Time
}

// Lasts reports whether p is a pause that has not ended; the zero Pause is none.
func (p Pause) Lasts() bool { return p.Consumer != "" && p.Resumed.IsZero() }

// ErrInvalid matches the error of a pause that names no consumer that could be.
var ErrInvalid = errors.New("no name of a consumer")

// maxName is the longest name of a consumer, in bytes.
const maxName = 120

// CheckConsumer returns an error that matches ErrInvalid where no consumer can have
// this name.
func CheckConsumer(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrInvalid)
	case len(name) > maxName:
		return fmt.Errorf("%w: it is longer than %d bytes", ErrInvalid, maxName)
	case strings.ContainsAny(name, "/\x00"):
		return fmt.Errorf("%w: %q has a slash or a NUL byte", ErrInvalid, name)
	}
	return nil
}
