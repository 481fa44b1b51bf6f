package nats

import "testing"

// The relay stores and shows the id of a sink: it has the addresses, and no user, password
// or token.
func TestSinkID(t *testing.T) {
	for url, want := range map[string]string{
		"nats://user:secret@b:4222, nats://token@a:4222/": "nats:a:4222,b:4222 hub",
		"tls://user:p@ss@a:4222":                          "nats:a:4222 hub",
		"a":                                               "nats:a hub",
	} {
		s := &Sink{o: SinkOptions{Server: Server{URL: url, Domain: "hub"}}}
		if got := s.SinkID(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
