package consumertest

import (
	"context"
	"fmt"
	"strings"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
)

// Steps are the steps of a message (package ledger).
type Steps struct {
	k *Kit
	m Message
}

// Steps returns the steps of m.
func (k *Kit) Steps(m Message) *Steps { return &Steps{k, m} }

// Rows returns what is recorded now, without waiting: see Settle.
func (s *Steps) Rows() (rows []ledger.Row) {
	s.k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	for _, id := range s.k.known(s.m) {
		some, err := s.k.place.kit.Operations().Steps.List(ctx, id)
		if err != nil {
			s.k.t.Fatalf("read the steps of %s: %v", s.m, err)
		}
		rows = append(rows, some...)
	}
	return rows
}

// row returns the row of a step, after Settle.
func (s *Steps) row(step string) (ledger.Row, bool) {
	s.k.t.Helper()
	s.k.Settle()
	rows := s.Rows()
	for _, r := range rows {
		if r.Step == step {
			return r, true
		}
	}
	s.k.t.Errorf("no step %q is recorded of %s; there are%s", step, s.m, named(rows))
	return ledger.Row{}, false
}

func named(rows []ledger.Row) string {
	if len(rows) == 0 {
		return " none"
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "\n\t%s %s after %d calls %s", r.Step, r.State, r.Calls, r.Error)
	}
	return b.String()
}

// CalledOnce asserts, after Settle, that the step, with its item if it has one, is done, and
// that the system has carried it out once for the message.
func (s *Steps) CalledOnce(system *System, step string) {
	s.k.t.Helper()
	r, ok := s.row(step)
	if !ok {
		return
	}
	if r.State != ledger.Done {
		s.k.t.Errorf("CalledOnce: step %s is %s, not done: %s\n\t%s", step, r.State, s.m, r.Error)
	}
	if n := system.under(s.keys(r)); n != 1 {
		s.k.t.Errorf("CalledOnce: step %s was carried out %d times, want 1: %s", step, n, s.m)
	}
}

// keys are those of all generations of a step.
func (s *Steps) keys(r ledger.Row) (keys []string) {
	s.k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	for g := range r.Generation + 1 {
		key, err := s.k.stepKey(ctx, r, g)
		if err != nil {
			s.k.t.Fatalf("read the id of the database: %v", err)
		}
		keys = append(keys, key)
	}
	return keys
}

// Parked asserts, after Settle, that the step needs a person, and the message is a dead
// letter for it. A step that is done needs one too if its handler does not declare it.
func (s *Steps) Parked(step string) {
	s.k.t.Helper()
	r, ok := s.row(step)
	l := s.k.DeadLettered(s.m, dlq.Parked, nil)
	asked := strings.HasPrefix(l.Error, fmt.Sprintf("step %s (%s) needs a person", ledger.NameOf(step), r.System))
	if ok && r.State != ledger.Parked && !asked {
		s.k.t.Errorf("Parked: step %s is %s: %s", step, r.State, s.m)
	}
}

// Resolve says what became of a step, as "headrace steps resolve" does, and the message runs
// again. With resolve.Done, result is the step's result as JSON; otherwise it is nil.
func (s *Steps) Resolve(step string, v resolve.Decision, result []byte) {
	s.k.t.Helper()
	r, ok := s.row(step)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	o, err := resolve.New(s.k.place.kit).Resolve(ctx, resolve.Resolution{
		ID: inbox.ID{Scope: r.ID.Scope, Key: r.ID.Key}, Step: step, Decision: v, Result: result, By: "consumertest", Reason: "test", Force: true,
	})
	if err != nil {
		s.k.t.Fatalf("Resolve: %v: %s", err, s.m)
	}
	s.k.story.add("resolved step %s as %s, redriven %t: %s", step, v, o.Redriven, s.m)
	s.k.wakeAll()
}
