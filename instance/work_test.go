package instance_test

import (
	"testing"
	"time"

	"github.com/headrace/headrace/instance"
)

// The work of a consumer is that of the processes that run.
func TestWorkOf(t *testing.T) {
	of := func(rate float64, median, age time.Duration) instance.Instance {
		return instance.Instance{Age: age, Work: instance.Work{Rate: rate, Median: median}}
	}
	list := []instance.Instance{of(10, 4*time.Millisecond, 0), of(20, 9*time.Millisecond, 0), of(0, 0, 0), of(30, 5*time.Millisecond, 0), of(99, time.Hour, time.Hour)}
	if got := instance.WorkOf(list); got.Rate != 60 || got.Median != 5*time.Millisecond {
		t.Errorf("%+v", got)
	}
	if got := instance.WorkOf(nil); got != (instance.Work{}) {
		t.Errorf("%+v", got)
	}
}
