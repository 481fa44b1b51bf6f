package consumertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/internal/runtime"
	"github.com/headrace/headrace/store/txn"
)

// When says when an injected failure happens.
type When int

// The moments.
const (
	// BeforeEffects: the handler is not called.
	BeforeEffects When = iota
	// AfterEffects: the handler did all its work and returned nil. The kit returns the
	// error instead, and the writes of the handler's Tx are rolled back.
	AfterEffects
)

// injected is a failure to inject.
type injected struct {
	m       Message
	attempt int
	when    When
	err     error
	// happened says that the failure happened, recorded how many attempts of the message
	// were recorded at that time.
	happened bool
	recorded int
}

// FailAttempt makes attempt n (from 1) at handling m fail with err, as if the handler had
// returned it: the attempt counts, and the policy decides. A retry.Permanent error makes
// a dead letter. In a batch, only m fails. If the attempt is repeated without being
// counted, because its process crashed or another message of its group failed, it fails
// again. If the failure did not happen by the end of the test, the test fails.
func (k *Kit) FailAttempt(m Message, n int, when When, err error) {
	k.t.Helper()
	k.check(m, true)
	if n < 1 || err == nil {
		k.t.Fatalf("FailAttempt(n=%d, err=%v): attempts count from 1, and the error is what the attempt fails with", n, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults = append(k.faults, &injected{m: m, attempt: n, when: when, err: err})
}

// run is a completed run of the handler.
type run struct {
	process, attempt int
	err              error
}

func idOf(d headrace.Delivery) inbox.ID { return inbox.ID{Scope: d.Scope, Key: d.Key} }

// intercept runs in place of the handlers of p.
func (p *process) intercept(_ context.Context, r runtime.Call, do func() error) error {
	if p.crashed() {
		return errCrashed
	}
	if r.Stage != runtime.Applying {
		if err := p.inject(r, BeforeEffects); err != nil {
			return err
		}
	}
	err := do()
	if p.crashed() {
		return errCrashed
	}
	if err == nil && r.Stage != runtime.Working {
		if err = p.inject(r, AfterEffects); err != nil {
			return err
		}
	}
	if err == nil && r.Stage != runtime.Applying && p.at(fault.MidHandler) != nil {
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

// blamed returns the error that err has for message i of a batch.
func blamed(err error, i int) error {
	var batch consumer.BatchError
	if errors.As(err, &batch) {
		return batch[i]
	}
	return err
}

// inject returns the failure that the test requested.
func (p *process) inject(r runtime.Call, when When) error {
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

// takeFault returns the failure for d, until the attempt is recorded: an attempt that is
// not recorded does not count and is repeated.
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
func (p *process) ran(r runtime.Call, d headrace.Delivery, err error) {
	said, what := "ok", "run of"
	if err != nil {
		said = "failed: " + err.Error()
	}
	switch r.Stage {
	case runtime.Working:
		what = "work on"
	case runtime.Applying:
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
	k.story.add("process %d: %s %s for %s, attempt %d: %s", p.n, what, d.Key, d.Scope, d.Attempt, said)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.runs[idOf(d)] = append(k.runs[idOf(d)], run{p.n, d.Attempt, err})
}

// ids returns the id of m at each handler of its topic. The caller holds mu.
func (k *Kit) ids(m Message) (list []inbox.ID) {
	for _, c := range k.consumers {
		for _, d := range c.Runtime().Identify(m.Topic, m.watermill()) {
			list = append(list, idOf(d))
		}
	}
	return list
}

// isOf reports whether id is m at one of its handlers. The caller holds mu.
func (k *Kit) isOf(m Message, id inbox.ID) bool {
	for _, own := range k.ids(m) {
		if own == id {
			return true
		}
	}
	return false
}
