package consumertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/around"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/store/txn"
)

// When says when an injected failure happens.
type When int

// The moments.
const (
	// BeforeEffects: the handler is not called.
	BeforeEffects When = iota
	// AfterEffects: the handler has done all its work and returned nil; the error is
	// returned in its place, and what it wrote by its Tx is rolled back.
	AfterEffects
)

// injected is a failure that is still to happen.
type injected struct {
	m       Message
	attempt int
	when    When
	err     error
	// happened says that it did, and recorded how many attempts of the message were
	// recorded then.
	happened bool
	recorded int
}

// FailAttempt has the attempt of number n (from 1) at handling m fail with err, as if the
// handler had returned it: the attempt counts, and the policy decides. A retry.Permanent
// error makes a dead letter. In a batch, only m fails. An attempt that is run again at no
// cost, because its process crashed or a neighbour in its group failed, fails again. A
// failure that did not happen by the end of the test fails it.
func (k *Kit) FailAttempt(m Message, n int, when When, err error) {
	k.t.Helper()
	k.check(m)
	if n < 1 || err == nil {
		k.t.Fatalf("FailAttempt(n=%d, err=%v): attempts count from 1, and the error is what the attempt fails with", n, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults = append(k.faults, &injected{m: m, attempt: n, when: when, err: err})
}

// run is a run of the handler that came to its end.
type run struct {
	process, attempt int
	err              error
}

func idOf(d headrace.Delivery) inbox.ID { return inbox.ID{Scope: d.Scope, Key: d.Key} }

// around stands around the handlers of p.
func (p *process) around(_ context.Context, r around.Run, do func() error) error {
	if p.crashed() {
		return errCrashed
	}
	if r.Stage != around.Applying {
		if err := p.inject(r, BeforeEffects); err != nil {
			return err
		}
	}
	err := do()
	if p.crashed() {
		return errCrashed
	}
	if err == nil && r.Stage != around.Working {
		if err = p.inject(r, AfterEffects); err != nil {
			return err
		}
	}
	if err == nil && r.Stage != around.Applying && p.at(fault.MidHandler) != nil {
		return errCrashed
	}
	for i, d := range r.Deliveries {
		p.ran(r, d, blamed(err, i))
	}
	return err
}

func (p *process) crashed() bool {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	return p.dead
}

// blamed is what err says of the message i of a batch.
func blamed(err error, i int) error {
	var batch consumer.BatchError
	if errors.As(err, &batch) {
		return batch[i]
	}
	return err
}

// inject returns the failure that was asked for.
func (p *process) inject(r around.Run, when When) error {
	for i, d := range r.Deliveries {
		err := p.k.takeFault(d, when)
		if err == nil {
			continue
		}
		p.ran(r, d, err)
		if r.Batch {
			return consumer.BatchError{i: err}
		}
		return err
	}
	return nil
}

// takeFault returns the failure that d is to have now. It has it until the attempt is
// recorded: one that was not counts for nothing, and is made again.
func (k *Kit) takeFault(d headrace.Delivery, when When) error {
	f := k.fault(d, when)
	if f == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	recorded, err := k.place.kit.Inbox().Attempts(ctx, idOf(d))
	if err != nil {
		return fmt.Errorf("consumertest: look at the attempts: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if f.happened && len(recorded) > f.recorded {
		return nil
	}
	f.happened, f.recorded = true, len(recorded)
	return f.err
}

func (k *Kit) fault(d headrace.Delivery, when When) *injected {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.faults {
		if f.when == when && f.attempt == d.Attempt && k.isOf(f.m, idOf(d)) {
			return f
		}
	}
	return nil
}

// ran notes a run.
func (p *process) ran(r around.Run, d headrace.Delivery, err error) {
	said, what := "ok", "run of"
	if err != nil {
		said = "failed: " + err.Error()
	}
	switch r.Stage {
	case around.Working:
		what = "work on"
	case around.Applying:
		what = "effects of"
	}
	k := p.k
	switch {
	case k.place.schema != "":
	case txn.Classify(err) == txn.LockTimeout:
		k.locked.Store(true)
	case errors.Is(err, context.DeadlineExceeded):
		k.late.Store(true)
	}
	k.story.add("process %d: %s %s for %s, attempt %d: %s", p.n, what, d.Key, r.Handler, d.Attempt, said)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runs[idOf(d)] = append(k.runs[idOf(d)], run{p.n, d.Attempt, err})
}

// ids are what m is at each handler of its topic. Called with mu held.
func (k *Kit) ids(m Message) (list []inbox.ID) {
	if k.inside.Identify == nil {
		return nil
	}
	for _, d := range k.inside.Identify(m.Topic, m.watermill()) {
		list = append(list, idOf(d))
	}
	return list
}

// isOf reports whether id is m at one of its handlers. Called with mu held.
func (k *Kit) isOf(m Message, id inbox.ID) bool {
	for _, own := range k.ids(m) {
		if own == id {
			return true
		}
	}
	return false
}
