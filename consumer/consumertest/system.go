package consumertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/ledger"
)

// System is a stand-in for another system that the steps of a handler call (package
// ledger), with its own log of what it has carried out. It lives longer than the processes of
// a kit. It is safe for concurrent use.
type System struct {
	finds, keeps     bool
	drops, carriesOn time.Duration

	mu     sync.Mutex
	calls  int
	faults map[int]error // of the n-th call
	lost   map[int]bool  // answers
	errs   map[string]error
	made   []made
	late   []made // what it will have carried out at that time
}

// made is what a call has made, and when, by the time of its message.
type made struct {
	key, id string
	at      time.Duration
}

// Behaviour is what a System does.
type Behaviour func(*System)

// Dedups has the system drop repetitions of an idempotency key for the time of window, and
// answer as the first time: for steps with ledger.Retry. ledger.Forever is without an end. A
// step whose KeyWindow is longer is carried out twice if its message is put off for long
// enough, as by FailAttempt with retry.After.
func Dedups(window time.Duration) Behaviour { return func(s *System) { s.drops = window } }

// Finds has the system find what it made under a key: for steps with ledger.Probe.
func Finds() Behaviour { return func(s *System) { s.finds = true } }

// CarriesOnAfterCancel has the system carry a call whose answer is lost out only d after
// its caller has gone. A step whose FindAfter is shorter is carried out twice. d passes while
// the message is put off.
func CarriesOnAfterCancel(d time.Duration) Behaviour { return func(s *System) { s.carriesOn = d } }

// KeepsErrors has the system answer a repetition of a key that it has refused with the
// same refusal, as Stripe does.
func KeepsErrors() Behaviour { return func(s *System) { s.keeps = true } }

// NewSystem returns a system that carries out each call, repetitions too, and finds
// nothing, unless it is told otherwise.
func NewSystem(behaviours ...Behaviour) *System {
	s := &System{faults: make(map[int]error), lost: make(map[int]bool), errs: make(map[string]error)}
	for _, b := range behaviours {
		b(s)
	}
	return s
}

// ErrNoAnswer is the error of a call whose answer is lost.
var ErrNoAnswer = errors.New("consumertest: no answer")

// ErrCannotFind is the error of Find of a system without Finds.
var ErrCannotFind = errors.New("consumertest: the system cannot be searched: make it with Finds()")

// LoseAnswer has the n-th call from now, from 1, be carried out, and its caller get
// ErrNoAnswer: its outcome is unknown. If there is no such call by the end of the test of a Kit
// whose steps call the system, the test fails.
func (s *System) LoseAnswer(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost[s.calls+n] = true
}

// Fail has the n-th call from now, from 1, not be carried out, and its caller get err; mark
// it with ledger.Refused or ledger.NotSent where the step is to know that. As with LoseAnswer, the
// call must come.
func (s *System) Fail(n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[s.calls+n] = err
}

// Call calls the system with c's key, sets c's id, and returns it. It is for the function of
// Step.Do.
func (s *System) Call(ctx context.Context, c *ledger.Call) (id string, err error) {
	s.met(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	n, now := s.calls, elapsed(ctx, c.Key)
	s.carryOn(func(m made) bool { return m.key == c.Key && m.at <= now })
	switch err := s.faults[n]; {
	case s.keeps && s.errs[c.Key] != nil:
		return "", s.errs[c.Key]
	case err != nil:
		if ledger.CertaintyOf(err, c) == ledger.CertainlyRefused {
			s.errs[c.Key] = err
		}
		return "", err
	case s.carriesOn > 0 && s.lost[n]:
		s.late = append(s.late, made{key: c.Key, at: now + s.carriesOn})
		return "", ErrNoAnswer
	}
	id = s.carryOut(c.Key, now)
	if s.lost[n] {
		return "", ErrNoAnswer
	}
	c.SetID(id)
	return id, ctx.Err()
}

// carryOut carries a call out, unless it drops it, and returns what it made.
func (s *System) carryOut(key string, at time.Duration) string {
	for _, m := range slices.Backward(s.made) {
		if m.key == key && at-m.at < s.drops {
			return m.id
		}
	}
	s.made = append(s.made, made{key, fmt.Sprint("made-", len(s.made)+1), at})
	return s.made[len(s.made)-1].id
}

// carryOn carries those calls out that it is late with, and whose time has come.
func (s *System) carryOn(due func(made) bool) {
	for _, m := range s.late {
		if due(m) {
			s.carryOut(m.key, m.at)
		}
	}
	s.late = slices.DeleteFunc(s.late, due)
}

// whole is what it has carried out, with what it is still late with. The caller holds s.mu.
func (s *System) whole() []made {
	s.carryOn(func(made) bool { return true })
	return s.made
}

// Find finds what the system made under c's key until now. It is for Step.Find.
func (s *System) Find(ctx context.Context, c *ledger.Call) (id string, found bool, err error) {
	if !s.finds {
		return "", false, ErrCannotFind
	}
	now := elapsed(ctx, c.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carryOn(func(m made) bool { return m.key == c.Key && m.at <= now })
	if i := slices.IndexFunc(s.made, func(m made) bool { return m.key == c.Key }); i >= 0 {
		c.SetID(s.made[i].id)
		return s.made[i].id, true, nil
	}
	return "", false, nil
}

// Calls returns how many calls the system got.
func (s *System) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Made returns how many calls the system has carried out, or will have in the end: call it
// after Kit.Settle.
func (s *System) Made() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.whole())
}

// under returns how often it has carried out a call with one of the keys.
func (s *System) under(keys []string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.whole() {
		if slices.Contains(keys, m.key) {
			n++
		}
	}
	return n
}
