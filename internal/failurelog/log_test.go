package failurelog

import (
	"fmt"
	"testing"
	"time"
)

// A storm of one failure is a line now and then, with the number of those that have none.
func TestDue(t *testing.T) {
	var l Log
	now := time.Now()
	k := kind{handler: "orders", fingerprint: "a"}
	if more, ok := l.due(k, now); !ok || more != 0 {
		t.Errorf("the first: %d, %t", more, ok)
	}
	for range 5 {
		if _, ok := l.due(k, now.Add(logEvery-1)); ok {
			t.Error("one of the same within logEvery has a line of its own")
		}
	}
	if _, ok := l.due(kind{handler: "orders", fingerprint: "b"}, now); !ok {
		t.Error("another reason has no line")
	}
	if more, ok := l.due(k, now.Add(logEvery)); !ok || more != 5 {
		t.Errorf("after logEvery: %d, %t", more, ok)
	}
	for i := range 3 * maxLogged {
		l.due(kind{fingerprint: fmt.Sprint(i)}, now)
	}
	if n := len(l.kinds); n > maxLogged {
		t.Errorf("%d kinds are kept", n)
	}
}
