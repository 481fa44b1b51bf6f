package ledger

import (
	"math"
	"time"
)

// Recovery says what becomes of a step after a call whose outcome is unknown: its process
// was killed, or no answer came.
type Recovery string

// The recoveries.
const (
	// Retry calls again with the same idempotency key, within Step.KeyWindow: the system
	// drops what it has carried out before. After the window it asks Step.Find if there is
	// one, and otherwise parks the message.
	Retry Recovery = "retry"
	// Probe asks the system with Step.Find, and calls again with the same key when
	// nothing is found Step.FindAfter after the call.
	Probe Recovery = "probe"
	// Park leaves the step to a person: the message becomes a dead letter of class
	// parked.
	Park Recovery = "park"
	// Skip goes on as if the step were done: the call may be missing, but is not made twice.
	Skip Recovery = "skip"
)

// Forever is a Step.KeyWindow without an end: for a PUT or an upsert, and for calls that
// only cost money.
const Forever = time.Duration(math.MaxInt64)

// Defaults and limits of steps.
const (
	// DefaultTimeout and DefaultFindAfter are the defaults of Step.Timeout and
	// Step.FindAfter.
	DefaultTimeout   = 10 * time.Second
	DefaultFindAfter = time.Minute
	// MaxSteps is how many steps a message may have.
	MaxSteps = 1000
	// MaxResult is how many bytes the JSON of a result may have.
	MaxResult = 1 << 20

	// MaxCount bounds what Admin.Count counts of each state.
	MaxCount = 3_000

	maxName = 128 // bytes of a step's name, its system, and an item of Of
)
