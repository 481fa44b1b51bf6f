package group

import (
	"context"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// script is a handler whose runs fail as it says: for each key one error a run.
type script struct {
	errs map[string][]error
	runs []string
}

func (s *script) run(_ context.Context, _ *headrace.Tx, key string) error {
	s.runs = append(s.runs, key)
	if len(s.errs[key]) == 0 {
		return nil
	}
	err := s.errs[key][0]
	s.errs[key] = s.errs[key][1:]
	return err
}

func (s *script) order() string { return strings.Join(s.runs, " ") }

// Group commit: handlers of a group run sorted by order key, stably within a key.
func TestGroupRunsInOrderOfKeys(t *testing.T) {
	var s script
	r := newRig(t, s.run)
	r.process("b1@b", "a1@a", "b2@b", "x", "a2@a")
	want(t, "runs", s.order(), "x a1 a2 b1 b2")
	want(t, "commits", len(r.calls("commit")), 1)
}

// Group commit: the group is run again without the culprit and the later messages
// of its order key, and these after it. Messages without a key stand for themselves.
func TestCulpritAndItsLaterMates(t *testing.T) {
	s := script{errs: map[string][]error{"a2": {errBoom}, "x": {errBoom}}}
	r := newRig(t, s.run, func(r *rig) { r.h.Policy = retry.Policy{MaxAttempts: 5, Immediate: 4} })
	tasks := r.tasks("x", "y", "a1@a", "a2@a", "a3@a", "b1@b")
	again := r.e.process(tasks)
	want(t, "again", keysOf(again), "x,a2,a3")
	want(t, "runs", s.order(), "x y a1 a2 y a1 b1")
	want(t, "ends", r.ended(), "y applied, a1 applied, b1 applied")
	want(t, "again after that", keysOf(r.e.process(again)), "")
	want(t, "ends", r.ended(), "y applied, a1 applied, b1 applied, x applied, a2 applied, a3 applied")
}

// Strict order: once a culprit waits in the backlog, an earlier message of its key
// would have to wait behind it. So the earlier ones run before the verdict.
func TestStrictEarlierMatesRunBeforeTheVerdict(t *testing.T) {
	s := script{errs: map[string][]error{"a2": {errBoom}}}
	r := newRig(t, s.run, strictly)
	want(t, "ends", r.process("a1@a", "a2@a", "a3@a"), "a1 applied, a2 waiting, a3 waiting")
	want(t, "put", strings.Join(r.calls("put"), "; "), "put a2 blocked false attempt 2; put a3 blocked true attempt 1")
}

// The same where the earlier message fails in turn and is to be run again at once:
// then there is no verdict yet on the later one.
func TestStrictNoVerdictBeforeAnEarlierMate(t *testing.T) {
	s := script{errs: map[string][]error{"a1": {nil, errBoom}, "a2": {retry.After(1, errBoom), retry.After(1, errBoom)}}}
	r := newRig(t, s.run, strictly, func(r *rig) { r.h.Policy = retry.Policy{MaxAttempts: 5, Immediate: 4} })
	want(t, "ends", r.process("a1@a", "a2@a"), "a1 applied, a2 waiting")
}

// The same for a batch handler that names two of one key.
func TestStrictBatchFailuresKeepTheirOrder(t *testing.T) {
	for range 20 { // a map has no order
		r := newRig(t, nil, strictly)
		r.h.Batch = true
		r.h.Run = func(context.Context, *headrace.Tx, []Input) error {
			return batchFailure{1: errBoom, 0: errBoom, 2: nil}
		}
		want(t, "ends", r.process("a1@a", "a2@a", "a3@a"), "a1 waiting, a2 waiting, a3 waiting")
		want(t, "put", strings.Join(r.calls("put"), "; "),
			"put a1 blocked false attempt 2; put a2 blocked true attempt 2; put a3 blocked true attempt 2")
		if t.Failed() {
			return
		}
	}
}

// Strict mode: the lock comes before the look, both before the claim, and the
// verdict takes the lock as well.
func TestStrictLocksBeforeItLooks(t *testing.T) {
	s := script{errs: map[string][]error{"a1": {errBoom}}}
	r := newRig(t, s.run, strictly)
	r.process("a1@a", "x")
	want(t, "calls", strings.Join(verbs(r.calls()), " "),
		"begin lock waiting claim begin claim commit begin lock waiting attempt record put commit")
}

func verbs(calls []string) (list []string) {
	for _, call := range calls {
		verb, _, _ := strings.Cut(call, " ")
		list = append(list, verb)
	}
	return list
}

// A duplicate of a message that waits is no message that waits behind it.
func TestStrictDuplicateOfAWaitingMessage(t *testing.T) {
	s := script{errs: map[string][]error{"a1": {errBoom}}}
	r := newRig(t, s.run, strictly)
	want(t, "ends", r.process("a1@a"), "a1 waiting")
	want(t, "ends", r.process("a1@a"), "a1 waiting, a1 duplicate")
}

// Claim: keys that are worked on elsewhere are set aside, and the later messages of
// their order keys with them; the others do not wait.
func TestBusyKeyHoldsItsLaterMates(t *testing.T) {
	var s script
	r := newRig(t, s.run)
	r.busy["a1"] = 2 // for the group, and for its single run
	again := r.e.process(r.tasks("a1@a", "a2@a", "b1@b"))
	want(t, "again", keysOf(again), "a1,a2")
	want(t, "runs", s.order(), "b1")
	want(t, "again", keysOf(r.e.process(again)), "")
	want(t, "runs", s.order(), "b1 a1 a2")
}

// A busy key without an order key holds nobody.
func TestBusyKeyWithoutOrderHoldsNobody(t *testing.T) {
	var s script
	r := newRig(t, s.run)
	r.busy["x"] = 1
	want(t, "again", keysOf(r.e.process(r.tasks("x", "y", "z"))), "x")
	want(t, "runs", s.order(), "y z")
	want(t, "claims", len(r.calls("claim")), 1)
}

// The held of a group: the earliest place counts, no key is no order.
func TestHeld(t *testing.T) {
	r := newRig(t, fine)
	tasks := r.tasks("x", "y", "a1@a", "a2@a", "a3@a")
	h := newHeld(tasks)
	h.add(tasks[3:4])
	h.add(tasks[4:5])
	h.add(tasks[0:1])
	want(t, "free", keysOf(h.split([]*Task{tasks[1], tasks[2]})), "y,a1")
	h.add(tasks[2:3])
	want(t, "behind", h.behind(tasks[3]), true)
	want(t, "again", keysOf(h.again()), "x,a1,a2,a3")
}

// In one process duplicates wait for the first: what becomes of them depends on what
// became of it, and on whether they say the same.
func TestDeliveriesBehindTheFirst(t *testing.T) {
	for _, c := range []struct {
		first Outcome
		other func(*Task)
		want  string
		runs  int
	}{
		{Applied, func(*Task) {}, "m applied, m duplicate", 0},
		{Waiting, func(*Task) {}, "m waiting, m duplicate", 0},
		{Dead, func(*Task) {}, "m dead, m duplicate", 0},
		{Stale, func(*Task) {}, "m stale, m duplicate", 0},
		{Released, func(*Task) {}, "m released", 1},
		{Conflict, func(*Task) {}, "m conflict", 1},
		{Applied, func(t *Task) { t.Delivery.Fingerprint = "other" }, "m applied", 1},
		{Applied, func(t *Task) { t.Bad = errBoom }, "m applied", 1},
	} {
		r := newRig(t, fine)
		first, second := r.task("m"), r.task("m")
		c.other(second)
		r.e.Add(first)
		r.e.Add(second)
		want(t, "one is queued", keysOf(r.e.queue.Take(r.e.limit)), "m")
		r.e.settle(first, c.first)
		want(t, "ends", r.ended(), c.want)
		want(t, "queued", r.e.queue.ready.Len(), c.runs)
	}
}

// Shutdown: what nobody had begun is released: the queued, those that waited behind,
// those that come too late, and those that were to be run again.
func TestStopReleases(t *testing.T) {
	r := newRig(t, fine)
	for range 2 {
		r.e.Add(r.task("m"))
	}
	r.e.Stop()
	r.e.Add(r.task("late"))
	want(t, "ends", r.ended(), "m released, m released, late released")
	want(t, "in flight", len(r.o.Inflight.byID), 0)

	r = newRig(t, fine)
	r.busy["m"] = 1
	r.e.Add(r.task("m"))
	r.after = func(call string) error {
		if strings.HasPrefix(call, "claim") {
			r.e.Stop()
		}
		return nil
	}
	r.e.Work()
	want(t, "ends of what was to be run again", r.ended(), "m released")
}

// Shutdown: once the consumer is told to stop, a worker begins nothing.
func TestNothingIsBegunAfterStop(t *testing.T) {
	var s script
	r := newRig(t, s.run)
	ends := make(chan Outcome, 1)
	task := r.task("m")
	task.Settle = func(o Outcome) { ends <- o }
	r.e.Add(task)
	r.stop()
	done := make(chan struct{})
	go func() { r.e.Work(); close(done) }()
	want(t, "end", <-ends, Released)
	r.e.Stop()
	<-done
	want(t, "runs", s.order(), "")
}

// Shutdown: after the drain time no handler is started, and nothing is settled but
// by releasing it.
func TestNoHandlerStartsAfterTheDrainTime(t *testing.T) {
	var s script
	r := newRig(t, s.run)
	r.stop()
	r.cut()
	want(t, "again", keysOf(r.e.process(r.tasks("a", "b"))), "a,b")
	want(t, "runs", s.order()+r.ended(), "")
	want(t, "transactions", len(r.calls("begin")), 0)
}

// A delivery whose subscription gave it to somebody else is released unseen.
func TestDeliveryWithEndedContextIsReleased(t *testing.T) {
	var s script
	r := newRig(t, s.run)
	gone := r.task("gone")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone.Context = ctx
	r.e.process([]*Task{gone, r.task("here")})
	want(t, "ends", r.ended(), "gone released, here applied")
}

// Group commit: a switched transaction is fatal, and its messages are not settled.
func TestSwitchedTransactionIsFatal(t *testing.T) {
	r := newRig(t, fine)
	r.fail = times(1, "commit", inbox.ErrSwitched)
	want(t, "again", keysOf(r.e.process(r.tasks("m"))), "m")
	if r.fatal == nil || !strings.Contains(r.fatal.Error(), "c/h") {
		t.Errorf("fatal: %v", r.fatal)
	}
	want(t, "ends", r.ended(), "")
}

// Alone: each message has a transaction of its own, however many are queued.
func TestAloneHandlersShareNothing(t *testing.T) {
	r := newRig(t, fine, alone)
	for _, task := range r.tasks("a", "b", "c") {
		r.e.Add(task)
	}
	for n := range 3 {
		tasks := r.e.queue.Take(r.e.limit)
		want(t, "taken", len(tasks), 1)
		want(t, "the next one need not gather", available(r.e.queue), n < 2)
		r.e.queue.Done(tasks, r.e.process(tasks), 0)
	}
	want(t, "commits", len(r.calls("commit")), 3)
}

// Group commit: groups shrink for a while after a deadlock, and stay within the time
// budget.
func TestGroupSizes(t *testing.T) {
	r := newRig(t, fine)
	want(t, "limit", r.e.limit(), 64)
	r.fail = times(1, "claim", deadlock)
	r.process("a", "b")
	for range shrunkGroups {
		want(t, "limit after a deadlock", r.e.limit(), shrunkSize)
	}
	want(t, "limit after a while", r.e.limit(), 64)
	r.e.perTask.Store(int64(r.o.BatchTime) / 10)
	want(t, "limit of slow handlers", r.e.limit(), 10)
	r.e.perTask.Store(int64(r.o.BatchTime) * 10)
	want(t, "limit of very slow handlers", r.e.limit(), 1)
	for range 100 {
		r.e.took(0, 1)
	}
	want(t, "limit when they are quick again", r.e.limit(), 64)
}
