package regress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
)

// mortal is a process that is killed when it comes to a point for the nth time: nothing that it
// does after that arrives anywhere.
type mortal struct {
	mu    sync.Mutex
	point fault.Point
	nth   int
	dead  bool
}

var errKilled = errors.New("the process is dead")

func (m *mortal) at(p fault.Point) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p == m.point {
		m.nth--
	}
	if m.dead = m.dead || p == m.point && m.nth == 0; m.dead {
		return errKilled
	}
	return nil
}

func (m *mortal) died() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// phases are the points of the way of a message, from its source to its acknowledgement.
var phases = []fault.Point{
	fault.AfterReceive, fault.AfterClaim, fault.MidHandler, fault.BeforeCommit, fault.AfterCommit, fault.BeforeAck, fault.AfterAck,
	fault.LetterBeforeCommit, fault.LetterAfterCommit,
}

// A process may be killed in each single phase of a message's way. The next one, to which the
// broker gives all messages again, brings each to its end: effects once, one letter for the one
// that fails for good, and no attempt that did not happen.
//
//evidence:once
func TestDeathInEachPhase(t *testing.T) {
	t.Parallel()
	deaths := 3
	if testing.Short() {
		deaths = 1
	}
	for i, point := range phases {
		for nth := 1; nth <= deaths; nth++ {
			t.Run(fmt.Sprint(point, " ", nth), func(t *testing.T) {
				t.Parallel()
				onEachWay(t, onEachStore, inTurn(i+nth, everyWay), func(f *fixture, w way) { dieAt(f, w, point, nth) })
			})
		}
	}
}

// dieAt kills a process at the point, and has another one finish.
func dieAt(f *fixture, w way, point fault.Point, nth int) {
	f.Helper()
	m := &mortal{point: point, nth: nth}
	var seen runs
	handler := func(ctx context.Context, tx *headrace.Tx, one *headrace.Message[body]) error {
		if err := insert(ctx, tx, one); err != nil {
			return err
		}
		if err := m.at(fault.MidHandler); err != nil {
			return err
		}
		first := seen.next(one.ID) == 1
		switch {
		case one.ID == "bad":
			return retry.Permanent(errBoom)
		case one.ID == "again" && first:
			return errBoom
		case one.ID == "later" && first:
			return retry.Postpone(time.Millisecond, errBoom)
		}
		return nil
	}
	ids := []string{"good", "bad", "again", "later"}
	st := fault.Store(f.open(), m.at)
	config := f.configOf(w)
	config.Retry, config.NackPause, config.Source = attempts(3), time.Millisecond, fault.Subscriber(f.src, m.at)
	first := f.consumer(st, config)
	w.handle(first, handler)
	old := f.start(first)
	for i, id := range ids {
		f.deliver(id, i)
	}
	f.eventually("it dies, or all have ended", func() bool { return m.died() || f.allEnded(ids) })
	_ = old.halt() // it may say that it could not end in order

	m = &mortal{}
	config.Source = memsource.New()
	f.src = config.Source.(*memsource.Source)
	next := f.consumer(f.open(), config)
	w.handle(next, handler)
	f.start(next)
	f.later(time.Hour) // leases have ended
	var all []*message.Message
	for i, id := range ids {
		all = append(all, f.deliver(id, i))
	}
	f.acked(all...)
	f.eventually("all have ended", func() bool { return f.allEnded(ids) })
	endedWell(f, w)
}

// endedWell checks the ends of the messages of dieAt.
func endedWell(f *fixture, w way) {
	f.Helper()
	for id, want := range map[string]int{"good": 1, "bad": 0, "again": 1, "later": 1} {
		if n := f.effects(id); n != want {
			f.Errorf("%s has %d effects, state %s", id, n, f.state(id))
		}
	}
	letters := f.letters()
	if len(letters) != 1 || letters[0].Delivery.Key != "bad" || f.state("bad") != inbox.Dead {
		f.Errorf("letters %v", letters)
	}
	for id, most := range map[string]int{"good": 0, "bad": 1, "again": 1, "later": 0} {
		list := slices.DeleteFunc(f.attempts(id), func(a inbox.Attempt) bool { return a.Class == string(retry.Lost) && w.name == leased.name })
		if len(list) > most {
			f.Errorf("%s has %d attempts, the last: %s", id, len(list), list[len(list)-1].Error)
		}
	}
}
