package regress

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
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
	consumer.Handle(c, topic, insertKey, append(options, consumer.Key(inbox.Header(header)))...)
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
	t.Parallel()
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
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		const n = 20
		p := keyedBy(f, misspelt)
		for range 3 {
			for i := range n {
				f.acked(f.deliverKeyed(i))
			}
		}
		letters := f.letters()
		if len(letters) != n {
			f.Errorf("%d letters for %d messages", len(letters), n)
		}
		for _, l := range letters {
			if l.Deliveries != 3 || !inbox.IsStandIn(l.Delivery.Key) {
				f.Errorf("letter %d, under %q, counts %d deliveries, not 3", l.LetterID, l.Delivery.Key, l.Deliveries)
			}
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

// A message that has no key still after a redrive is the letter that it was, open again, and
// keeps what was decided on it.
//
//evidence:undecodable
func TestRedriveWithoutAKeyOpensTheLetterAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name   string
		option consumer.Option
	}{{"live", consumer.Name(topic)}, {"taken in", consumer.Intake()}} {
		t.Run(kind.name, func(t *testing.T) {
			onEachStore(t, func(f *fixture) {
				keyedBy(f, misspelt, kind.option)
				f.acked(f.deliverKeyed(1))
				letter := f.letters()[0]
				for redrives := 1; redrives <= 2; redrives++ {
					if r := f.redriveAll(); r.Done != 1 {
						f.Fatalf("%+v", r)
					}
					f.workedOff()
					onlyLetter(f, letter, dlq.Open)
					detail, err := redrive.New(f.st).Show(f.Context(), letter.LetterID)
					if err != nil || len(detail.Trail) != redrives || detail.Letter.Redrives != redrives || detail.Inbox.State != inbox.Dead {
						f.Errorf("%v: %d decisions, %d redrives, %q; want %d, and a dead message", err, len(detail.Trail), detail.Letter.Redrives, detail.Inbox.State, redrives)
					}
				}
				f.acked(f.deliverKeyed(1)) // the same letter still
				onlyLetter(f, letter, dlq.Open)
			})
		})
	}
}

// A key that a person gives holds for all deliveries that the letter counts.
//
//evidence:undecodable
func TestRedriveUnderAGivenKey(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		keyedBy(f, misspelt)
		for range 3 {
			f.acked(f.deliverKeyed(1))
		}
		letter := f.letters()[0]
		request := redrive.Request{Filter: dlq.Filter{IDs: []int64{letter.LetterID}}, NewKey: "k1", By: "ana"}
		if r, err := redrive.New(f.st).Redrive(f.Context(), request); err != nil || r.Done != 1 {
			f.Fatal(r, err)
		}
		f.eventually("it is applied", func() bool { return f.state("k1") == inbox.Done })
		f.acked(f.deliverKeyed(1))
		onlyLetter(f, letter, dlq.Redriven)
		if n := f.effects("k1"); n != 1 || f.state(letter.Delivery.Key) != inbox.Discarded {
			f.Errorf("%d effects; the stand-in is %q", n, f.state(letter.Delivery.Key))
		}
		request.NewKey = letter.Delivery.Key
		if _, err := redrive.New(f.st).Redrive(f.Context(), request); !errors.Is(err, redrive.ErrInvalid) {
			f.Errorf("a stand-in key was taken: %v", err)
		}
	})
}

// A broker's order key that no table takes does not keep a message without a key from
// becoming a letter.
//
//evidence:undecodable
func TestLetterWithABinaryOrderKey(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		config := f.config()
		config.OrderKey = nil // the broker's
		c := f.consumer(f.st, config)
		consumer.Handle(c, topic, insert, consumer.Key(inbox.Header("none")))
		f.start(c)
		m := message.NewMessage("m", []byte(`{"n":1}`))
		m.SetContext(headrace.WithArrival(m.Context(), headrace.Arrival{OrderKey: "\xff\x00"}))
		f.src.DeliverMessage(topic, m)
		f.acked(m)
		if l := f.letters(); len(l) != 1 || l[0].Class != dlq.Undecodable {
			f.Errorf("letters %+v", l)
		}
	})
}
