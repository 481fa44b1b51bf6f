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

// Change is something that happens to a message on its way without making it another
// one.
type Change string

// The changes that a key has to bear. Each is made alone, and then all together.
const (
	// Redelivered: the broker delivers it once more, to another process.
	Redelivered Change = "delivered again by the broker"
	// Resent: its sender sends it once more, with another message id, at another place
	// on the broker.
	Resent Change = "sent again by its sender, under another message id"
	// MoreHeaders: brokers and proxies add headers, and change those of a trace.
	MoreHeaders Change = "headers added on the way"
	// HeaderCase: a proxy writes the names of headers in another case.
	HeaderCase Change = "names of headers in another case"
	// Reserialised: a gateway reads the JSON payload and writes it anew: members in
	// another order, other white space, characters escaped otherwise. Numbers keep
	// their digits. A payload that is no JSON stays as it is.
	Reserialised Change = "JSON written anew"
)

// changes in the order in which they are tried.
var changes = []Change{Redelivered, Resent, MoreHeaders, HeaderCase, Reserialised}

// StableKey fails the test unless key gives m one and the same valid key, however m is
// changed on its way: see [Change]. except are changes that do not happen to this
// message, each a decision that should be visible in the test: Resent for a key that is
// the sender's message id, for example.
//
// It also calls key from several goroutines and some hundred times in a row, and fails
// where key changes the delivery or panics. Where t is a *testing.T it calls key in a
// bubble of package testing/synctest as well, in which seconds, days and years pass
// between the calls: a key with today's date in it fails. A test that runs in a bubble
// itself, and another testing.TB, have no such clock: there a key that changes with the
// time is found only if it changes while the test runs (a *testing.T logs that).
func StableKey(t testing.TB, key inbox.KeyFunc, m Message, except ...Change) {
	t.Helper()
	resolve := func(d *headrace.Delivery) (string, error) { return inbox.Resolve(key, d) }
	stable(t, "key", resolve, m, except)
}

// StableFingerprint is StableKey for a fingerprint: one that changes on the way turns a
// redelivery into a conflict.
func StableFingerprint(t testing.TB, fingerprint inbox.FingerprintFunc, m Message, except ...Change) {
	t.Helper()
	stable(t, "fingerprint", fingerprint, m, except)
}

// DistinctKeys fails the test unless key gives each of ms a key of its own: a key that
// is too coarse drops messages as duplicates, or makes conflicts of them.
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

// first returns what f gives m as it is.
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
// whether it bore that.
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

// delivery is m as a key function sees it.
func (m Message) delivery() headrace.Delivery {
	d := inbox.Received(m.watermill(), "test/"+m.Topic, m.Topic)
	if d.Coordinates.IsZero() { // brokers have some
		d.Coordinates = headrace.Coordinates{Broker: "test", Topic: m.Topic, Partition: "0", Position: "1"}
	}
	return d
}
