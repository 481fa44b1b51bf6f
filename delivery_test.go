package headrace_test

import (
	"context"
	"strings"
	"testing"

	"github.com/headrace/headrace"
)

func TestCoordinates(t *testing.T) {
	c := headrace.Coordinates{Broker: "kafka", Topic: "orders", Partition: "0", Position: "42"}
	if got := headrace.ArrivalFrom(headrace.WithArrival(context.Background(), headrace.Arrival{Coordinates: c})).Coordinates; got != c {
		t.Errorf("got %+v", got)
	}
	if got := headrace.ArrivalFrom(context.Background()).Coordinates; !got.IsZero() || got.String() != "" {
		t.Errorf("without coordinates: %+v, %q", got, got.String())
	}
	if c.IsZero() || c.String() != "kafka/orders/0/42" {
		t.Errorf("%q", c.String())
	}
}

// INVARIANTS 3: 28, 31. Senders can forge headers, which end in text columns.
func TestTraceFrom(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	long := strings.Repeat("a", 513)
	for name, c := range map[string]struct{ parent, state, wantParent, wantState string }{
		"none":                     {},
		"both":                     {parent, "a=1,b=2", parent, "a=1,b=2"},
		"parent alone":             {parent, "", parent, ""},
		"state alone":              {"", "a=1", "", ""},
		"huge parent":              {long, "a=1", "", ""},
		"huge state":               {parent, long, parent, ""},
		"longest state":            {parent, long[:512], parent, long[:512]},
		"NUL in parent":            {parent + "\x00", "a=1", "", ""},
		"invalid UTF-8 in parent":  {"\xff", "a=1", "", ""},
		"line break in state":      {parent, "a=1\r\nX-Forged: 1", parent, ""},
		"invalid UTF-8 in state":   {parent, "a=\xff", parent, ""},
		"beyond ASCII in state":    {parent, "a=é", parent, ""},
		"tab, which is no text":    {"\t", "", "", ""},
		"all that may be in state": {parent, " !\"#~", parent, " !\"#~"},
	} {
		got := headrace.TraceFrom(map[string]string{"traceparent": c.parent, "tracestate": c.state})
		if got != (headrace.TraceContext{Parent: c.wantParent, State: c.wantState}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := headrace.TraceFrom(nil); got != (headrace.TraceContext{}) {
		t.Errorf("no metadata: %+v", got)
	}
}
