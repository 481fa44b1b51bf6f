package brokertest

import (
	"context"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

// foreign: a sender that knows neither Watermill nor us gives no id and no header. Its
// messages are not duplicates of each other (TRAPS, "sender is not Watermill": UUID ""),
// not even two with equal bytes.
func foreign(s *bundle) {
	s.sendNumbers(1, 40)
	s.work("", apply)
	s.appliedOnce(40)
	s.undecodable(0)
	if s.f.Anonymous {
		return // two equal messages without a name are one to every key that there is
	}
	s.send(Record{Payload: bodyOf(41)}, Record{Payload: bodyOf(41)})
	s.eventually("both of two equal messages", func() (string, bool) {
		return "fewer", s.count("SELECT count(*) FROM effects WHERE n = 41") == 2
	})
	s.nothingLeft()
}

// nameless: where neither sender nor broker name a message, and the consumer has no key
// for it, it becomes a dead letter; none is taken for the duplicate of another.
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

// twins: the same message sent twice is applied once, whatever the broker thinks of it.
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

// hostile: headers and payloads that unmarshalers trip over (TRAPS, "Adapters") neither
// end the subscription nor come again and again; each becomes what its Hostile says, and
// so do the good ones behind it.
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

// badFirst: bytes that no codec reads stand at the head of a batch. They become a dead
// letter with the same bytes, and hold up nobody.
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

// panics: a handler that panics is a failure, not the end.
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
