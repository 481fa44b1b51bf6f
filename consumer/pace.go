package consumer

import (
	"time"

	"github.com/headrace/headrace/instance"
)

// pace is how often a process says that it runs, and looks after the others. Tests are
// in more of a hurry.
type pace struct {
	look   time.Duration // between two looks for a pause, and at instances in question
	beat   time.Duration // between two beats
	missed time.Duration // without a beat, after which an instance is dead
	most   time.Duration // the longest caution after the death of another
}

var usualPace = pace{look: time.Second, beat: 3 * time.Second, missed: instance.Missed, most: 10 * time.Minute}
