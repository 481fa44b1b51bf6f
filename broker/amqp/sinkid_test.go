package amqp

import "testing"

// The relay stores and shows the id of a sink: it has the address, and no user or password.
func TestSinkID(t *testing.T) {
	for url, want := range map[string]string{
		"amqp://user:secret@rabbit:5673/orders": "amqp:rabbit:5673/orders events",
		"amqps://rabbit":                        "amqp:rabbit:5671/ events",
	} {
		s, err := NewSink(SinkOptions{Server: Server{URL: url}, Topology: Topology{Exchange: "events"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.SinkID(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
