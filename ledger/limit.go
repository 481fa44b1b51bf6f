package ledger

import (
	"errors"
	"fmt"
	"math"
)

// Limit bounds the calls of one system that a process makes. Calls of Step.Find count too.
// A step that must wait for a limit keeps its message's lease and its slot of the handler.
type Limit struct {
	// Concurrent is how many steps call the system at once. 0 means any number.
	Concurrent int
	// PerSecond is how many calls begin in a second, at least one in an hour. 0 means any number.
	PerSecond float64
	// Burst is how many calls may begin at once after a time without any. Default 1. It
	// needs PerSecond.
	Burst int
}

// leastPerSecond is a call in an hour.
const leastPerSecond = 1.0 / 3600

// Validate returns an error that names the first invalid field.
func (l Limit) Validate() error {
	switch {
	case l.Concurrent < 0:
		return fmt.Errorf("the Concurrent is negative (%d): 0 means any number", l.Concurrent)
	case l.PerSecond < 0 || math.IsNaN(l.PerSecond) || math.IsInf(l.PerSecond, 0):
		return fmt.Errorf("the PerSecond is %v: it is a number of calls, and 0 means any", l.PerSecond)
	case l.PerSecond > 0 && l.PerSecond < leastPerSecond:
		return fmt.Errorf("the PerSecond is %v, less than a call in an hour: steps would only wait; pause the system instead", l.PerSecond)
	case l.Burst < 0:
		return fmt.Errorf("the Burst is negative (%d): 0 gives the default", l.Burst)
	case l.Burst > 0 && l.PerSecond == 0:
		return fmt.Errorf("a Burst of %d without PerSecond: it has no effect", l.Burst)
	case l == (Limit{}):
		return errors.New("it limits nothing: give Concurrent or PerSecond, or leave the system out")
	}
	return nil
}
