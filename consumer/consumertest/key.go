package consumertest

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

// Change is a change of a message on its way that leaves it the same message.
type Change string

// The changes that a key must survive. Each is tried alone, and then all together.
const (
	// Redelivered: the broker delivers the message again, to another process.
	Redelivered Change = "delivered again by the broker"
	// Resent: the sender sends the message again, with another message id, at another
	// position on the broker.
	Resent Change = "sent again by its sender, under another message id"
	// MoreHeaders: brokers and proxies add headers and change those of a trace.
	MoreHeaders Change = "headers added on the way"
	// HeaderCase: a proxy writes the names of headers in another case.
	HeaderCase Change = "names of headers in another case"
	// Reserialised: a gateway reads the JSON payload and writes it again, with members in
	// another order, other white space and other escapes. Numbers keep their digits. A
	// payload that is not JSON stays as it is.
	Reserialised Change = "JSON written anew"
)

// changes in the order in which they are tried.
var changes = []Change{Redelivered, Resent, MoreHeaders, HeaderCase, Reserialised}

// StableKey fails the test unless key gives m the same valid key after every [Change].
// except are changes that do not happen to this message, each a decision that the test
// should show: Resent, for example, if the key is the sender's message id.
//
// It also calls key from several goroutines and some hundred times in a row, and fails if
// key changes the delivery or panics. If t is a *testing.T it also calls key in a bubble
// of package testing/synctest, in which seconds, days and years pass between the calls: a
// key that contains today's date fails. A test that runs in a bubble itself, and another
// testing.TB, have no such clock. There StableKey finds a key that depends on the time
// only if it changes during the test (a *testing.T logs that).
func StableKey(t testing.TB, key inbox.KeyFunc, m Message, except ...Change) {
	t.Helper()
	resolve := func(d *headrace.Delivery) (string, error) { return inbox.Resolve(key, d) }
	stable(t, "key", resolve, m, except)
}

// StableFingerprint is StableKey for a fingerprint. A fingerprint that changes on the way
// turns a redelivery into a conflict.
func StableFingerprint(t testing.TB, fingerprint inbox.FingerprintFunc, m Message, except ...Change) {
	t.Helper()
	stable(t, "fingerprint", fingerprint, m, except)
}

// DistinctKeys fails the test unless each of ms has a different key. A key that is too
// coarse drops messages as duplicates or makes conflicts of them.
func DistinctKeys(t testing.TB, key inbox.KeyFunc, ms ...Message) {
	t.Helper()
	seen := make(map[string]Message, len(ms))
	for _, m := range ms {
		d := m.delivery()
		got, err := inbox.Resolve(key, &d)
		if err != nil {
			t.Errorf("DistinctKeys: no key for %s: %v", m, err)
			continue
		}
		if other, known := seen[got]; known {
			t.Errorf("DistinctKeys: two messages have the key %q:\n\t%s\n\t%s", got, other, m)
		}
		seen[got] = m
	}
}

type textFunc = func(d *headrace.Delivery) (string, error)

func stable(t testing.TB, what string, f textFunc, m Message, except []Change) {
	t.Helper()
	want, ok := first(t, what, f, m)
	if !ok {
		return
	}
	all := m.delivery()
	for _, change := range changes {
		if slices.Contains(except, change) {
			continue
		}
		d := m.delivery()
		change.apply(&d)
		change.apply(&all)
		same(t, what, f, d, want, m, string(change))
	}
	same(t, what, f, all, want, m, "all of these changes together")
	if atOnce(t, what, f, m, want) && inARow(t, what, f, m, want) {
		overTime(t, what, f, m, want)
	}
}

// first returns the text of f for the unchanged m.
func first(t testing.TB, what string, f textFunc, m Message) (string, bool) {
	t.Helper()
	d, before := m.delivery(), m.delivery()
	got, err := guarded(f, &d)
	if err != nil {
		t.Errorf("the %s of %s cannot be had: %v", what, m, err)
		return "", false
	}
	if !bytes.Equal(d.Payload, before.Payload) || !maps.Equal(d.Metadata, before.Metadata) || d.ID != before.ID {
		t.Errorf("the %s function changes the delivery that it reads: the handler and other functions would see that", what)
	}
	return got, true
}

func same(t testing.TB, what string, f textFunc, d headrace.Delivery, want string, m Message, change string) {
	t.Helper()
	got, err := guarded(f, &d)
	switch {
	case err != nil:
		t.Errorf("the %s is not stable: %s:\n\tit was  %q\n\tand now cannot be had: %v\n\tmessage %s", what, change, want, err, m)
	case got != want:
		t.Errorf("the %s is not stable: %s:\n\tit was  %q\n\tand now %q\n\tmessage %s\n\tEach such delivery would be handled as another message.",
			what, change, want, got, m)
	}
}

// atOnce calls f from several goroutines, as the handlers of a consumer do, and reports
// whether all results were the same.
func atOnce(t testing.TB, what string, f textFunc, m Message, want string) bool {
	t.Helper()
	var calls sync.WaitGroup
	got := make([]string, 8)
	for i := range got {
		calls.Go(func() {
			d := m.delivery()
			got[i], _ = guarded(f, &d)
		})
	}
	calls.Wait()
	for _, one := range got {
		if one != want {
			t.Errorf("the %s is not stable: called from several goroutines it was %q and %q\n\tmessage %s", what, want, one, m)
			return false
		}
	}
	return true
}

// delivery returns m as a key function gets it.
func (m Message) delivery() headrace.Delivery {
	d := inbox.Received(m.watermill(), "test/"+m.Topic, m.Topic)
	if d.Coordinates.IsZero() { // brokers give some
		d.Coordinates = headrace.Coordinates{Broker: "test", Topic: m.Topic, Partition: "0", Position: "1"}
	}
	return d
}
