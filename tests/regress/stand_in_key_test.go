package regress

import (
	"context"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
)

// The header with the key, and how the program spells it before it is mended.
const (
	keyHeader = "Idempotency-Key"
	misspelt  = "Idempotency-Kye"
)

// keyedBy starts a consumer whose keys are in that header.
func keyedBy(f *fixture, header string, options ...consumer.Option) *process {
	f.Helper()
	c := f.consumer(f.st, f.config())
	consumer.Handle(c, topic, insertKey, append(options, consumer.Key(inbox.Header(header), nil))...)
	return f.start(c)
}

// insertKey is the effect of a message, by the number in it.
func insertKey(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg, n) VALUES ($1, $2)", m.Key, m.Body.N)
	return err
}

// deliverKeyed hands over a message without an id, which names its key in a header.
func (f *fixture) deliverKeyed(n int) *message.Message {
	return f.src.Deliver(topic, "", fmt.Appendf(nil, `{"n":%d}`, n), map[string]string{keyHeader: fmt.Sprint("k", n)})
}

// redriveAll redrives all open letters.
func (f *fixture) redriveAll() redrive.Result {
	f.Helper()
	r, err := redrive.New(f.st).Redrive(f.Context(), redrive.Request{All: true, By: "ana"})
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// workedOff waits until the backlog is empty.
func (f *fixture) workedOff() {
	f.Helper()
	f.eventually("the backlog is worked off", func() bool {
		d, err := f.st.Backlog().Depth(f.Context(), name)
		return err == nil && d.Ready+d.Delayed+d.Blocked+d.Leased == 0
	})
}

// A key function with a typo makes letters. After it is mended, a redrive applies each
// message under its own key, and another delivery is a duplicate.
//
// Without that the letter was applied under its stand-in key, and the delivery applied
// the message again.
//
//evidence:undecodable
func TestRedriveAsksForTheKeyAgain(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		const n = 5
		p := keyedBy(f, misspelt)
		for i := range n {
			f.acked(f.deliverKeyed(i))
		}
		if err := p.halt(); err != nil {
			f.Fatal(err)
		}
		keyedBy(f, keyHeader)
		f.acked(f.deliverKeyed(0)) // comes again before the redrive
		if r := f.redriveAll(); r.Done != n {
			f.Fatalf("%+v", r)
		}
		f.workedOff()
		for i := range n {
			f.acked(f.deliverKeyed(i))
			if got := appliedWith(f, i); got != 1 {
				f.Errorf("message %d was applied %d times", i, got)
			}
		}
	})
}

// A message without a key that comes again is the same letter.
//
// With random stand-in keys each delivery made a letter, and a redrive applied all.
//
//evidence:undecodable
func TestStandInKeyIsStable(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		const n = 20
		p := keyedBy(f, misspelt)
		for range 3 {
			for i := range n {
				f.acked(f.deliverKeyed(i))
			}
		}
		if got := len(f.letters()); got != n {
			f.Errorf("%d letters for %d messages", got, n)
		}
		if err := p.halt(); err != nil {
			f.Fatal(err)
		}
		keyedBy(f, keyHeader)
		f.redriveAll()
		f.workedOff()
		for i := range n {
			if got := appliedWith(f, i); got != 1 {
				f.Errorf("message %d was applied %d times", i, got)
			}
		}
	})
}
