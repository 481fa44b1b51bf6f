package consumertest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// scheduled is a schedule.Source.
type scheduled interface {
	TakeFrom(other message.Subscriber)
	TickMessage(name string, at time.Time) (*message.Message, error)
}

// Tick delivers the tick of a schedule of that time, as its schedule.Source makes it, and
// returns its message, for assertions and to deliver it again: every process makes every
// tick. It ends the test if the calendar of the schedule has no such time; schedule.Next
// says what it has.
//
// These are all ticks in a test: none comes by itself. A tick counts as the newest of its
// schedule, however old it is.
func (k *Kit) Tick(name string, at time.Time) Message {
	k.t.Helper()
	k.start(1)
	source := k.scheduled(name)
	if source == nil {
		k.t.Fatalf("Tick: no handler has a schedule.Source with the schedule %q", name)
	}
	made, err := source.TickMessage(name, at)
	if err != nil {
		k.t.Fatalf("Tick: %v", err)
	}
	m := Message{Topic: name, ID: made.UUID, Payload: made.Payload, arrival: headrace.ArrivalFrom(made.Context())}
	k.Deliver(m)
	return m
}

// scheduled returns the source of the ticks of that name; nil if there is none.
func (k *Kit) scheduled(name string) scheduled {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.consumers {
		for _, h := range c.Runtime().Handlers() {
			if s, ok := h.Source.(scheduled); ok && h.Topic == name {
				return s
			}
		}
	}
	return nil
}

// Post sends a webhook to Process.Server, and returns the status of its answer: a POST of
// m.Payload to path, with m.Metadata as its headers. It waits until a process serves. For
// the assertions, m.Topic is that of the endpoint and m.ID the id that the sender gave.
//
// The status is 0 if the process crashes before it has answered. A sender then sends m again;
// here the test does.
func (k *Kit) Post(path string, m Message) (status int) {
	k.t.Helper()
	k.check(m, false)
	p := k.await("Post", func(p *process) bool {
		if p.http == nil {
			k.t.Fatalf("Post: the Wire has set no Process.Server")
		}
		return p.ready()
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(p.soft, cancel)()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(m.Payload))
	for name, value := range m.Metadata {
		r.Header.Set(name, value)
	}
	w := recorder{httptest.NewRecorder()}
	p.http.ServeHTTP(w, r)
	if p.crashed() {
		k.story.add("process %d crashed without an answer to POST %s: %s", p.n, path, m)
		return 0
	}
	k.story.add("process %d answered POST %s with %d: %s", p.n, path, w.Code, m)
	return w.Code
}

// await starts a process if none runs, and waits until usable says yes to it. method is the
// kit's method that waits.
func (k *Kit) await(method string, usable func(p *process) bool) *process {
	k.t.Helper()
	k.start(1)
	end, cancel := k.deadline()
	defer cancel()
	idle := time.NewTimer(k.idleTimeout)
	defer idle.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		k.mu.Lock()
		p, failed := k.slots[0], k.failed
		runs := p != nil && !p.dead
		k.mu.Unlock()
		if failed != nil {
			k.t.Fatalf("%v\n%s", failed, k.tell())
		}
		if runs && usable(p) {
			return p
		}
		select {
		case <-look.C: // a subscription begins without a beat of the pulse
		case <-idle.C:
			k.t.Fatalf("%s: no process has been ready for %s\n%s", method, k.idleTimeout, k.tell())
		case <-end.Done():
			k.t.Fatalf("%s: the test's time is over, and no process is ready\n%s", method, k.tell())
		}
	}
}

// ready reports whether all consumers of p take messages.
func (p *process) ready() bool {
	for _, c := range p.all {
		if c.Runtime().Ready() != nil {
			return false
		}
	}
	return true
}

// recorder keeps an answer. It has deadlines, as the writer of a server has; nothing here
// is slow.
type recorder struct{ *httptest.ResponseRecorder }

// SetReadDeadline is for http.ResponseController.
func (recorder) SetReadDeadline(time.Time) error { return nil }
