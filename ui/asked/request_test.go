package asked

import (
	"testing"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/intervene"
)

// What was decided of steps by a command has a page that says so, and names no redrive.
func TestStepRequests(t *testing.T) {
	for kind, c := range map[string]struct{ answer, says string }{
		intervene.ResolveKind: {`{"step": "payout", "state": "done"}`, "step payout is done"},
		intervene.SendKind:    {`{"step": "approval", "sent": true}`, "signal approval is sent"},
		intervene.EraseKind:   {`{"erased": 2}`, "2 results are erased"},
	} {
		d := &Request{Request: instance.Request{Kind: kind}, Answer: instance.Answer{State: instance.RequestDone, Value: []byte(c.answer)}}
		if err := d.read(); err != nil || d.Did != c.says || d.Redrive != 0 {
			t.Errorf("%s: %q, redrive %d, %v; want %q", kind, d.Did, d.Redrive, err, c.says)
		}
	}
}
