package headrace

import (
	"errors"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/encode"
)

// FuzzTraceFrom: what is kept of a trace context fits a header of any broker, and is a
// part of what came.
func FuzzTraceFrom(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=b")
	f.Add("", "a=b")
	f.Add("00-\r\nX: y", strings.Repeat("x", 600))
	f.Add(strings.Repeat("0", 64<<10), "\xff")
	f.Fuzz(func(t *testing.T, parent, state string) {
		got := TraceFrom(map[string]string{TraceParentHeader: parent, TraceStateHeader: state})
		if got.Parent == "" && got.State != "" {
			t.Fatalf("a state without a parent: %+v", got)
		}
		for kept, came := range map[string]string{got.Parent: parent, got.State: state} {
			if kept != "" && kept != came && kept != parent && kept != state {
				t.Fatalf("%q of %q", kept, came)
			}
			if len(kept) > 512 || strings.IndexFunc(kept, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
				t.Fatalf("%q is kept", kept)
			}
		}
	})
}

// FuzzEvent: an event is refused as invalid or can be written as it is.
func FuzzEvent(f *testing.F) {
	f.Add("orders", "", "id", []byte("x"))
	f.Add("", "\x00", "\xff", []byte(nil))
	f.Add(strings.Repeat("t", 1025), `a"; drop table`, "..", []byte{})
	f.Fuzz(func(t *testing.T, topic, order, id string, payload []byte) {
		e, err := Event{Topic: topic, OrderKey: order, ID: id, Payload: payload}.Encode(nil)
		if err != nil {
			if !errors.Is(err, ErrInvalidEvent) {
				t.Fatal(err)
			}
			return
		}
		for _, name := range []string{e.ID, e.Topic, e.OrderKey} {
			if !encode.Clean(name) || len(name) > 1<<10 {
				t.Fatalf("%q was taken", name)
			}
		}
		if e.ID == "" || e.Topic == "" || e.Payload == nil || id != "" && e.ID != id {
			t.Fatalf("%+v", e)
		}
	})
}
