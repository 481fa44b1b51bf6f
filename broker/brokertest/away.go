package brokertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2"

	"github.com/headrace/headrace/consumer"
)

// noticeTime bounds the time until Ready says that the broker is away: the 8 seconds that
// it promises, and some more for a slow machine.
const noticeTime = 12 * time.Second

// away: the broker is away when a consumer starts, later refuses its connections, and
// then says nothing on them. The consumer stays alive, Ready says why, and everything
// goes on without help when the broker is there.
func away(s *bundle) {
	s.notSubscribed()
	p := s.proxy()
	p.Stop()
	w := s.work(p.Listen, apply)
	s.notReady(w, "at the start")
	s.back(p)
	s.readyAgain(w)
	s.sendNumbers(1, 3)
	s.appliedOnce(3)

	p.Stop()
	s.notReady(w, "refused connections")
	s.back(p)
	s.readyAgain(w)
	s.sendNumbers(4, 6)
	s.appliedOnce(6)

	mend := s.harm(p, "timeout") // a connection stays open, and what is sent is dropped
	defer mend()
	s.notReady(w, "silent connections")
	mend()
	s.readyAgain(w)
	s.sendNumbers(7, 9)
	s.appliedOnce(9)
	s.undecodable(0)
}

// notSubscribed tests that a source without a subscription of the topic says nothing of it.
func (s *bundle) notSubscribed() {
	s.Helper()
	source := s.source("")
	h, ok := source.(consumer.HealthReporter)
	if !ok {
		s.Fatalf("%T is no consumer.HealthReporter", source)
	}
	if err := h.Healthy(s.Context(), s.topic); err != nil {
		s.Errorf("not subscribed: %v", err)
	}
}

// back starts a stopped proxy again.
func (s *bundle) back(p *toxiproxy.Proxy) {
	s.Helper()
	if err := p.Start(); err != nil {
		s.Fatalf("toxiproxy: %v", err)
	}
}

// notReady waits until Ready of w says that the broker is away, and w is alive.
func (s *bundle) notReady(w *worker, how string) {
	s.Helper()
	began := time.Now()
	for {
		s.alive()
		err, list := w.c.Ready(), w.c.Subscriptions()
		if err != nil && len(list) == 1 && list[0].Err != nil && errors.Is(err, list[0].Err) {
			s.Logf("%s, after %s: %v", how, time.Since(began).Round(time.Millisecond), err)
			if !strings.Contains(err.Error(), s.topic) {
				s.Errorf("%s: Ready does not name the topic: %v", how, err)
			}
			break
		}
		if time.Since(began) > noticeTime {
			s.Fatalf("%s: Ready does not say that the broker is away: %v", how, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := w.c.Alive(); err != nil {
		s.Errorf("%s: it is not alive: %v", how, err)
	}
}

// readyAgain waits until w is ready.
func (s *bundle) readyAgain(w *worker) {
	s.Helper()
	s.eventually("ready", func() (string, bool) {
		err := w.c.Ready()
		return fmt.Sprint("reasons that it is not: ", err), err == nil
	})
}
