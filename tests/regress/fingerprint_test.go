package regress

import (
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
)

// A fingerprint that the database would refuse makes its message an undecodable dead
// letter at once, as such a key does. Its neighbours are applied.
//
// Without that the claim of the whole batch failed again and again, and that was taken
// for an outage of the database.
//
//evidence:undecodable
func TestFingerprintIsBounded(t *testing.T) {
	t.Parallel()
	cases := 0
	for how, print := range map[string]string{
		"just over 1 KiB": strings.Repeat("f", 1<<10+1),
		"64 KiB":          strings.Repeat("0123456789abcdef", 4<<10),
		"NUL":             "print\x00",
		"invalid UTF-8":   "print\xff",
	} {
		cases++
		ways := inTurn(cases, everyWay)
		t.Run(how, func(t *testing.T) {
			onEachWay(t, onEachStore, ways, func(f *fixture, w way) {
				const culprit, n = "m3", 10
				config := f.configOf(w)
				config.SameWhen = func(d *headrace.Delivery) (string, error) {
					if d.ID == culprit {
						return print, nil
					}
					return inbox.Payload()(d)
				}
				c := f.consumer(f.st, config)
				w.handle(c, insert)
				var all []*message.Message
				for i, id := range series("m", n) {
					all = append(all, f.deliver(id, i))
				}
				f.start(c)
				f.acked(all...)
				f.acked(f.deliver(culprit, 3)) // a redelivery makes no second letter
				f.appliedOnce(neighbours(n, culprit)...)
				f.eventually("the letter", func() bool { return len(f.letters()) > 0 })
				letters := f.letters()
				if len(letters) != 1 || letters[0].Class != dlq.Undecodable || letters[0].Delivery.ID != culprit {
					f.Errorf("%d letters, the first: %+v", len(letters), letters[0])
				}
				if f.effects(culprit) != 0 {
					f.Error("the message was applied")
				}
			})
		})
	}
}

// A fingerprint of 1 KiB is allowed.
func TestFingerprintOfOneKilobyte(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		config := f.config()
		config.SameWhen = func(*headrace.Delivery) (string, error) { return strings.Repeat("é", 512), nil }
		c := f.consumer(f.st, config)
		consumer.Handle(c, topic, insert)
		f.start(c)
		f.acked(f.deliver("m", 1), f.deliver("m", 1))
		f.appliedOnce("m")
		f.noLetters()
	})
}
