package group

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/store/txn"
)

// ErrLeaseLost is the cause of the end of a leased work's context where the lease could
// not be extended in time, or somebody else has it; and what the next holder records of
// the one before.
var ErrLeaseLost = errors.New("lease lost")

// Leased says how a leased handler works.
type Leased struct {
	// Slots is how many messages are worked on at a time.
	Slots int
	// Term is how long a lease lasts without being extended.
	Term time.Duration
	// Timeout bounds the work, which holds no transaction.
	Timeout time.Duration
	// Work does it, and returns what to commit; nil for nothing.
	Work func(ctx context.Context, in Input) (headrace.Effects, error)
}

// leaser claims rows of a leased handler and has them worked on.
//
// Rule: a slot is taken before its row is claimed, and a lease is in hand from before
// its claim's commit until it was committed under, given back, or lost.
type leaser struct {
	e     *Engine
	o     *Leased
	slots chan struct{} // holds one for each slot that is taken
	wake  chan struct{}
	works sync.WaitGroup

	mu   sync.Mutex
	held map[*work]struct{}
}

func newLeaser(e *Engine) *leaser {
	return &leaser{
		e: e, o: e.h.Leased, slots: make(chan struct{}, e.h.Leased.Slots), wake: make(chan struct{}, 1),
		held: make(map[*work]struct{}),
	}
}

// The pauses between looks that found nothing.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = time.Second
)

// Lease works off the rows of a leased handler until the consumer is told to stop, and
// returns when what was begun has ended, except handlers that ignore their context. It
// returns at once for any other handler.
func (e *Engine) Lease() {
	l := e.leaser
	if l == nil {
		return
	}
	var beating sync.WaitGroup
	ended := make(chan struct{})
	beating.Go(func() { l.beat(ended) })
	l.handOut()
	l.works.Wait()
	close(ended)
	beating.Wait()
}

// nudge has the leaser look at once.
func (l *leaser) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// handOut claims rows while there are slots.
func (l *leaser) handOut() {
	pause, failing := firstLook, false
	for have := 0; l.e.soft.Err() == nil; {
		if have == 0 {
			select {
			case l.slots <- struct{}{}:
				have = 1
			case <-l.e.soft.Done():
				return
			}
		}
		found, next, err := l.look()
		taken := 0
		if err == nil && found {
			have += l.take()
			taken, err = l.claimWithCare(have)
			have -= taken
		}
		switch {
		case err != nil:
			failing = l.failed(err) || failing
			continue
		case failing:
			failing = false
			l.e.o.Gate.OK()
		}
		if taken > 0 {
			pause = firstLook
			continue
		}
		pause = l.rest(pause, next)
	}
}

// take takes the slots that are free, and returns how many.
func (l *leaser) take() (n int) {
	for {
		select {
		case l.slots <- struct{}{}:
			n++
		default:
			return n
		}
	}
}

// look finds nothing while the consumer is held.
func (l *leaser) look() (bool, time.Duration, error) {
	if l.e.o.Held != nil && l.e.o.Held() {
		return false, 0, nil
	}
	ctx, cancel := context.WithTimeout(l.e.soft, l.e.o.Patience)
	defer cancel()
	return l.e.st.Backlog().Leases.Look(ctx, l.e.h.Consumer, l.e.h.Name)
}

// failed pauses after an error of our own statements, and reports whether it closed the
// gate.
func (l *leaser) failed(err error) bool {
	if l.e.soft.Err() != nil {
		return false // what failed may be the end of its context
	}
	if c := txn.Classify(err); c == txn.Serialization || c == txn.LockTimeout {
		sleep(l.e.soft, firstLook)
		return false
	}
	sleep(l.e.soft, l.e.o.Gate.Fail(fmt.Errorf("lease: %w", err)))
	return true
}

// rest waits until there may be something to claim: for pause, until the next lease
// ends, or for a wake-up. It returns the next pause.
func (l *leaser) rest(pause, next time.Duration) time.Duration {
	d := pause
	if next > 0 {
		d = min(d, next)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.wake:
		return firstLook
	case <-timer.C:
	case <-l.e.soft.Done():
	}
	return min(2*pause, lastLook)
}

// claim leases at most n rows, has them worked on, and returns how many. The verdicts
// on leases that were lost before are in the same commit: each is one attempt.
func (l *leaser) claim(n int) (int, error) {
	before, token := time.Now(), rand.Text()
	t, err := l.e.begin()
	if err != nil {
		return 0, err
	}
	defer t.Rollback()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.e.hard), l.e.o.Patience)
	defer cancel()
	items, err := l.e.st.Backlog().Leases.Claim(ctx, t, l.e.h.Consumer, l.e.h.Name, token, l.o.Term, n)
	if err != nil || len(items) == 0 {
		return 0, err
	}
	tasks := make([]*Task, len(items))
	for i := range items {
		tasks[i] = &Task{Delivery: items[i].Delivery, item: &items[i], token: token}
	}
	rulings, err := l.e.judgeLost(ctx, t, tasks)
	if err != nil {
		return 0, err
	}
	begin, copies := rulings.sort(tasks)
	begin, err = l.chooseAlone(ctx, t, begin, n)
	if err != nil {
		return 0, err
	}
	if err := l.e.st.Commit(ctx, t, copies); err != nil {
		if errors.Is(err, txn.ErrCommitUnknown) { // they may be ours, and nobody works on them
			l.giveBack(begin...)
		}
		return 0, err
	}
	l.e.announce(rulings, copies)
	if l.e.soft.Err() != nil {
		l.giveBack(begin...)
		return 0, nil
	}
	for _, task := range begin {
		l.begin(task, before.Add(l.o.Term))
	}
	return len(begin), nil
}

// leases of tasks.
func leasesOf(tasks []*Task) []backlog.Lease {
	leases := make([]backlog.Lease, len(tasks))
	for i, t := range tasks {
		leases[i] = t.lease()
	}
	return leases
}
