package brokertest

import (
	"context"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

// foreign: a sender without Watermill and headrace sets no id and no header. Its messages
// are not duplicates of each other (TRAPS, "sender is not Watermill": UUID ""), not even
// two with equal bytes.
//
//evidence:any-sender
func foreign(s *bundle) {
	s.sendNumbers(1, 40)
	s.work("", apply)
	s.appliedOnce(40)
	s.undecodable(0)
	if s.f.Anonymous {
		return // every key takes two equal messages without an id for one
	}
	s.send(Record{Payload: bodyOf(41)}, Record{Payload: bodyOf(41)})
	s.eventually("both of two equal messages", func() (string, bool) {
		return "fewer", s.count("SELECT count(*) FROM effects WHERE n = 41") == 2
	})
	s.nothingLeft()
}

// nameless: if neither sender nor broker gives a message an id, and the consumer has no
// key for it, it becomes a dead letter; none counts as a duplicate of another.
//
//evidence:any-sender
func nameless(s *bundle) {
	s.sendNumbers(1, 5)
	s.work("", apply, defaultKey)
	letters := s.undecodable(5)
	for n := 1; n <= 5; n++ {
		if !hasPayload(letters, bodyOf(n)) {
			s.Errorf("message %d is in no letter", n)
		}
	}
	s.nothingLeft()
}

// twins: a message that is sent twice is applied once, whatever the broker does with it.
func twins(s *bundle) {
	var records []Record
	for n := 1; n <= 20; n++ {
		for range 3 {
			records = append(records, Record{Payload: bodyOf(n)})
		}
	}
	s.send(records...)
	s.work("", apply, byNumber)
	s.work("", apply, byNumber)
	s.appliedOnce(20)
}

// hostile: headers and payloads on which unmarshalers fail (TRAPS, "Adapters") neither
// end the subscription nor come again and again. Each ends as its Hostile says, and the
// good messages behind it are applied.
//
//evidence:any-sender
func hostile(s *bundle) {
	applied, dead := 0, 0
	for _, h := range s.f.Hostile {
		payload := bodyOf(applied + 1)
		if h.Undecodable {
			payload = bodyOf(0)
			dead++
		} else {
			applied++
		}
		ctx, cancel := s.bounded()
		err := h.Send(ctx, s.topic, payload)
		cancel()
		if err != nil {
			s.Fatalf("send %s: %v", h.Name, err)
		}
	}
	s.sendNumbers(applied+1, applied+5)
	s.work("", apply)
	s.appliedOnce(applied + 5)
	for _, l := range s.undecodable(dead) {
		s.Logf("undecodable, as it should be: %s", l.Error)
	}
}

// badFirst: the first message of a batch has bytes that no codec reads. It becomes a dead
// letter with the same bytes, and does not hold up the others.
//
//evidence:any-sender
func badFirst(s *bundle) {
	bad := s.f.BadPayload
	if bad == nil {
		bad = []byte("\xff\xfe\x00{not json")
	}
	records := []Record{{Payload: bad}}
	for n := 1; n <= 20; n++ {
		records = append(records, Record{Payload: bodyOf(n)})
	}
	s.send(records...)
	s.work("", apply)
	s.appliedOnce(20)
	if letters := s.undecodable(1); !hasPayload(letters, bad) {
		s.Errorf("the letter holds %q, want %q", letters[0].Delivery.Payload, bad)
	}
}

// panics: a panic of a handler is a failed attempt; the consumer continues.
func panics(s *bundle) {
	s.sendNumbers(1, 10)
	s.work("", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if err := apply(ctx, tx, m); err != nil {
			return err
		}
		if m.Attempt == 1 && m.Body.N%3 == 0 {
			panic("boom")
		}
		return nil
	})
	s.appliedOnce(10)
}

var byNumber option = key(inbox.JSON("n"))
var defaultKey option = key(inbox.DefaultKey())
