package instance

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/encode"
)

// Pause says that a consumer shall take no messages. It is kept after the consumer was
// resumed, until the next pause.
type Pause struct {
	// Consumer is the consumer's name; it may have no process.
	Consumer string
	// By is the person who paused it; Reason why, in that person's words, or ""; At when,
	// by the database's clock.
	By     string
	Reason string
	At     time.Time
	// ResumedBy is the person who ended the pause, Resumed when; empty and zero while it
	// lasts.
	ResumedBy string
	Resumed   time.Time
}

// Lasts reports whether p is a pause that has not ended; for the zero Pause it is false.
func (p Pause) Lasts() bool { return p.Consumer != "" && p.Resumed.IsZero() }

// ErrInvalid matches the error of an invalid consumer name.
var ErrInvalid = errors.New("no name of a consumer")

// CheckConsumer returns an error that matches ErrInvalid if name is not valid for a
// consumer.
func CheckConsumer(name string) error {
	if err := encode.ConsumerName(name); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}
