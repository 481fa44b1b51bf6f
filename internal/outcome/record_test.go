package outcome_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// What becomes of a delivery after its first failure, by its kind and error.
func TestFirstFailure(t *testing.T) {
	type want struct {
		outcome task.Outcome
		class   string
		attempt int
		letter  dlq.Class
		delay   time.Duration
	}
	onEachStore(t, func(f *fixture) {
		for name, c := range map[string]struct {
			kind outcome.Kind
			err  error
			want want
		}{
			"transient":        {outcome.Failed, enginetest.ErrBoom, want{task.Waiting, "transient", 1, "", 0}},
			"panic":            {outcome.Failed, &retry.PanicError{Value: 1}, want{task.Waiting, "panic", 1, "", 0}},
			"timeout":          {outcome.Failed, context.DeadlineExceeded, want{task.Waiting, "timeout", 1, "", 0}},
			"left behind":      {outcome.Failed, fmt.Errorf("x: %w", runner.ErrStuck), want{task.Waiting, "timeout", 1, "", 0}},
			"lease lost":       {outcome.Failed, fmt.Errorf("x: %w", outcome.ErrLeaseLost), want{task.Waiting, "lost", 1, "", 0}},
			"after":            {outcome.Failed, retry.After(time.Hour, enginetest.ErrBoom), want{task.Waiting, "transient", 1, "", time.Hour}},
			"permanent":        {outcome.Failed, retry.Permanent(enginetest.ErrBoom), want{task.Dead, "permanent", 1, dlq.Permanent, 0}},
			"postponed":        {outcome.Failed, retry.Postpone(time.Minute, enginetest.ErrBoom), want{task.Waiting, "", 0, "", time.Minute}},
			"postponed by 0":   {outcome.Failed, fmt.Errorf("x: %w", retry.Postpone(0, enginetest.ErrBoom)), want{task.Waiting, "", 0, "", 0}},
			"permanent later":  {outcome.Failed, retry.Postpone(time.Minute, retry.Permanent(enginetest.ErrBoom)), want{task.Dead, "permanent", 1, dlq.Permanent, 0}},
			"rerun":            {outcome.Rerun, enginetest.ErrBoom, want{task.Waiting, "", 0, "", 50 * time.Millisecond}},
			"rerun, postponed": {outcome.Rerun, retry.Postpone(time.Hour, enginetest.ErrBoom), want{task.Waiting, "", 0, "", 50 * time.Millisecond}},
			"stale":            {outcome.Stale, inbox.ErrStale, want{task.Stale, "", 0, "", 0}},
			"undecodable":      {outcome.Undecodable, enginetest.ErrBoom, want{task.Dead, "undecodable", 0, dlq.Undecodable, 0}},
			"crashed":          {outcome.Crashed, outcome.ErrCrashed, want{task.Dead, "crashed", 0, dlq.Crashed, 0}},
		} {
			h := handler("h-" + name)
			failure := f.fails(h, name, c.kind, c.err)
			got := want{failure.Outcome, failure.Class, failure.Attempt, classes([]*dlq.Letter{failure.Task.Letter})[0], failure.Delay}
			if got != c.want {
				f.Errorf("%s: %+v, want %+v", name, got, c.want)
			}
			state := map[task.Outcome]inbox.State{task.Waiting: inbox.Waiting, task.Dead: inbox.Dead, task.Stale: inbox.Done}[c.want.outcome]
			if f.State(h, name) != state || len(f.Attempts(h, name)) != c.want.attempt {
				f.Errorf("%s: state %q, %d attempts", name, f.State(h, name), len(f.Attempts(h, name)))
			}
		}
		if d := f.depth(); d != (backlog.Depth{Ready: 6, Delayed: 4, Postponed: 1}) {
			f.Errorf("%+v", d) // what is postponed by nothing is ready
		}
	})
}

// Attempts count over the runs of a row, up to the policy's number; the letter says how
// many there were, and keeps the message and the reason.
func TestAttemptsAreSpent(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := handler("orders")
		f.put(h, "k", "m")
		for n := 1; n <= 3; n++ {
			err := fmt.Errorf("run %d: %w", n, enginetest.ErrBoom)
			b := f.visit(h, "k", map[string]error{"m": err})
			failure := b.Failed[0]
			want := task.Waiting
			if n == 3 {
				want = task.Dead
			}
			if failure.Attempt != n || failure.Outcome != want || failure.Description.Error != err.Error() || failure.Task.Delivery.Attempt != n {
				f.Errorf("attempt %d: %+v", n, failure)
			}
		}
		letters, attempts := f.Letters(), f.Attempts(h, "m")
		if len(letters) != 1 || len(attempts) != 3 {
			f.Fatalf("%d letters, %d attempts", len(letters), len(attempts))
		}
		l := letters[0]
		if l.Class != dlq.Exhausted || l.Attempts != 3 || l.Error != "run 3: boom" || l.Host != "host" || l.Build != "build" || l.Environment != "environment" ||
			l.Handler != h.Name || !slices.ContainsFunc(l.Chain, func(s string) bool { return strings.Contains(s, "boom") }) {
			f.Errorf("letter %+v", l)
		}
		for i, a := range attempts {
			if a.Error != fmt.Sprintf("run %d: boom", i+1) || a.ErrorType == "" || a.Host != "host" || a.Build != "build" {
				f.Errorf("attempt %+v", a)
			}
		}
		if d := f.depth(); d != (backlog.Depth{}) {
			f.Errorf("left: %+v", d)
		}
	})
}

// The attempts before a redrive do not count against the policy.
func TestSpentBeforeARedrive(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := handler("orders")
		h.Policy = enginetest.Attempts(2)
		f.put(h, "k", "m")
		for range 2 {
			f.visit(h, "k", map[string]error{"m": enginetest.ErrBoom})
		}
		if _, err := redrive.New(f.Store).Redrive(f.Context(), redrive.Request{All: true, By: "ana"}); err != nil {
			f.Fatal(err)
		}
		if b := f.visit(h, "k", map[string]error{"m": enginetest.ErrBoom}); b.Failed[0].Outcome != task.Waiting || b.Failed[0].Attempt != 3 {
			f.Errorf("%+v", b.Failed[0])
		}
		if b := f.visit(h, "k", map[string]error{"m": enginetest.ErrBoom}); b.Failed[0].Outcome != task.Dead {
			f.Errorf("%+v", b.Failed[0])
		}
		letters := f.Letters()
		slices.SortFunc(letters, func(a, b dlq.Letter) int { return int(a.LetterID - b.LetterID) })
		if len(letters) != 2 || letters[1].PreviousID != letters[0].LetterID || letters[1].Redrives != 1 || letters[1].Attempts != 4 {
			f.Errorf("letters %+v", letters)
		}
	})
}

// A message may be postponed for as long as the policy says, or the one who postpones it;
// then it has failed, and the next postponement counts anew.
func TestPostponedForTooLong(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		const margin = time.Minute
		for name, c := range map[string]struct {
			bound, since time.Duration // 0: the policy's
			failed       bool
		}{
			"within a day":    {0, 24*time.Hour - margin, false},
			"for a day":       {0, 24 * time.Hour, true},
			"within its own":  {72 * time.Hour, 71 * time.Hour, false},
			"beyond its own":  {time.Hour, time.Hour + margin, true},
			"a smaller bound": {time.Hour, time.Hour - margin, false},
		} {
			h := handler(name)
			postpone := retry.PostponeWithin(time.Hour, c.bound, enginetest.ErrBoom)
			f.put(h, name, name)
			var failure *outcome.Failure
			f.record(func(t *txn.Txn) outcome.Batch {
				one := f.rows(t, h, name)[0]
				one.Item.Postponed = c.since // as the row says
				failure = &outcome.Failure{Task: one, Err: postpone}
				return outcome.Batch{Failed: []*outcome.Failure{failure}}
			})
			if (failure.Attempt == 1) != c.failed {
				f.Errorf("%s: %+v", name, failure)
			}
			if bound := cmp.Or(c.bound, 24*time.Hour); !c.failed && failure.Delay != min(time.Hour, bound-c.since) {
				f.Errorf("%s: waits %s more", name, failure.Delay)
			}
			if c.failed && !strings.HasPrefix(failure.Description.Error, "postponed for ") {
				f.Errorf("%s: %q", name, failure.Description.Error)
			}
		}
		h := handler("counts") // on the database's clock
		f.fails(h, "counts", outcome.Failed, retry.Postpone(0, enginetest.ErrBoom))
		if n := f.Count("SELECT count(*) FROM headrace_backlog WHERE key = 'counts' AND postponed_at IS NOT NULL"); n != 1 {
			f.Error("a delivery that is postponed does not count from now on")
		}
	})
}

// A free rerun is counted in the row, and an attempt begins the count anew.
func TestRerunsAreCounted(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := handler("orders")
		f.put(h, "k", "m")
		for n := range 3 {
			f.record(func(t *txn.Txn) outcome.Batch {
				one := f.rows(t, h, "k")[0]
				if one.Item.Reruns != n || one.Delivery.Attempt != 1 {
					f.Errorf("reruns %d, attempt %d, want %d reruns", one.Item.Reruns, one.Delivery.Attempt, n)
				}
				return outcome.Batch{Failed: []*outcome.Failure{{Task: one, Kind: outcome.Rerun, Err: enginetest.ErrBoom}}}
			})
			f.Exec("UPDATE headrace_backlog SET due_at = NULL, status = 'ready'")
		}
		f.visit(h, "k", map[string]error{"m": enginetest.ErrBoom})
		f.record(func(t *txn.Txn) outcome.Batch {
			one := f.rows(t, h, "k")[0]
			if one.Item.Reruns != 0 || one.Delivery.Attempt != 2 {
				f.Errorf("after an attempt: %d reruns, attempt %d", one.Item.Reruns, one.Delivery.Attempt)
			}
			return outcome.Batch{Applied: []*task.Task{one}}
		})
		for n, want := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond, 800 * time.Millisecond} {
			if got := outcome.RerunPause(n); got != want {
				f.Errorf("pause %s before rerun %d, want %s", got, n+1, want)
			}
		}
	})
}

// The letter of a message that ended its process counts the attempts before.
func TestCrashedAfterAnAttempt(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := handler("orders")
		f.put(h, "k", "m")
		f.visit(h, "k", map[string]error{"m": enginetest.ErrBoom})
		f.record(func(t *txn.Txn) outcome.Batch {
			return outcome.Batch{Failed: []*outcome.Failure{{Task: f.rows(t, h, "k")[0], Kind: outcome.Crashed, Err: outcome.ErrCrashed}}}
		})
		if l := f.Letters(); len(l) != 1 || l[0].Class != dlq.Crashed || l[0].Attempts != 1 || len(f.Attempts(h, "m")) != 1 {
			f.Errorf("letters %+v", l)
		}
	})
}

// A lost lease is an attempt, but gives the message up only where three were lost, however
// few attempts the policy allows.
func TestLostLeases(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := handler("orders")
		h.Policy = enginetest.Attempts(1)
		f.put(h, "k", "m")
		for n := 1; n <= outcome.MaxLost; n++ {
			failure := f.visit(h, "k", map[string]error{"m": outcome.ErrLeaseLost}).Failed[0]
			want := task.Waiting
			if n == outcome.MaxLost {
				want = task.Dead
			}
			if failure.Attempt != n || failure.Outcome != want {
				f.Errorf("%d leases lost: %+v", n, failure)
			}
		}
		if l := f.Letters(); len(l) != 1 || l[0].Class != dlq.Crashed || l[0].Attempts != outcome.MaxLost {
			f.Errorf("letters %+v", l)
		}
	})
}

// Failures of one cause have one fingerprint, whatever their messages are, and stand in
// one group.
func TestFingerprints(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := handler("orders")
		h.Policy = enginetest.Attempts(1)
		cause := errors.New("connection refused")
		var prints []string
		for n := range 3 {
			failure := f.fails(h, fmt.Sprint("m", n), outcome.Failed, fmt.Errorf("order 1%d00: %w", n, cause))
			prints = append(prints, failure.Description.Fingerprint)
		}
		prints = append(prints, f.fails(h, "other", outcome.Failed, &retry.PanicError{Value: 1}).Description.Fingerprint)
		if prints[0] == "" || prints[0] != prints[1] || prints[1] != prints[2] || prints[2] == prints[3] {
			f.Errorf("fingerprints %v", prints)
		}
		for _, l := range f.Letters() {
			if (l.Delivery.Key == "other") != (l.ErrorFingerprint == prints[3]) {
				f.Errorf("%s has %s", l.Delivery.Key, l.ErrorFingerprint)
			}
		}
	})
}

// The row of a message that waits for its retry says why it failed, first live and then out
// of the backlog; a rerun does not take that away.
func TestRetryKeepsItsFingerprint(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := handler("orders")
		var want string
		check := func(when string) {
			f.Helper()
			rows, _, err := f.Store.Operations().Waiting.List(t.Context(), backlog.Filter{}, 0, 2)
			if err != nil || len(rows) != 1 || want == "" || rows[0].ErrorFingerprint != want {
				f.Errorf("%s: %+v, %v; want %s", when, rows, err, want)
			}
		}
		want = f.fails(h, "m", outcome.Failed, enginetest.ErrBoom).Description.Fingerprint
		check("live")
		for _, c := range []struct {
			kind outcome.Kind
			err  error
		}{{outcome.Failed, &retry.PanicError{Value: 1}}, {outcome.Rerun, enginetest.ErrBoom}} {
			f.Exec(fmt.Sprintf("UPDATE headrace_backlog SET due_at = NULL, status = 'ready', shard = %d", shard.Of("k")))
			failure := &outcome.Failure{Kind: c.kind, Err: c.err}
			f.record(func(t *txn.Txn) outcome.Batch {
				failure.Task = f.rows(t, h, "k")[0]
				return outcome.Batch{Failed: []*outcome.Failure{failure}}
			})
			if c.kind == outcome.Failed {
				want = failure.Description.Fingerprint
			}
			check(fmt.Sprint("after ", c.err))
		}
	})
}

// However many failures a batch has, it takes one statement of each kind.
func TestStatementsAreShared(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		counting := &counter{Store: f.Store, calls: make(map[string]int)}
		f.r.Store = counting
		h, last := handler("orders"), handler("last")
		last.Policy = enginetest.Attempts(1)
		copies := 0
		f.r.DeadTopic = copyTopic
		f.record(func(t *txn.Txn) (b outcome.Batch) {
			for n := range 8 {
				b.Failed = append(b.Failed,
					&outcome.Failure{Task: f.live(t, h, fmt.Sprint("again", n)), Err: enginetest.ErrBoom},
					&outcome.Failure{Task: f.live(t, last, fmt.Sprint("dead", n)), Err: enginetest.ErrBoom},
					&outcome.Failure{Task: f.live(t, h, fmt.Sprint("stale", n)), Kind: outcome.Stale, Err: inbox.ErrStale},
				)
				b.Applied = append(b.Applied, f.live(t, h, fmt.Sprint("applied", n)))
			}
			counting.calls = make(map[string]int)
			return b
		})
		want := map[string]int{"attempts": 1, "transition": 2, "stale": 1, "put": 1, "insert": 1}
		if fmt.Sprint(counting.calls) != fmt.Sprint(want) {
			f.Errorf("calls %v, want %v", counting.calls, want)
		}
		if f.depth().Ready != 8 || len(f.Letters()) != 8 || copies != 0 {
			f.Errorf("%+v, %d letters", f.depth(), len(f.Letters()))
		}
	})
}

// A letter has its alert and the copy that the consumer asked for, in the same commit.
func TestCopiesAndAlerts(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.r.DeadTopic = copyTopic
		h := handler("orders")
		copies := f.record(func(t *txn.Txn) outcome.Batch {
			return outcome.Batch{Failed: []*outcome.Failure{
				{Task: f.live(t, h, "dead"), Err: retry.Permanent(enginetest.ErrBoom)}, {Task: f.live(t, h, "again"), Err: enginetest.ErrBoom},
			}}
		})
		if len(copies) != 1 || copies[0].Event.Topic != "orders.dead" || string(copies[0].Event.Payload) != "{}" {
			f.Errorf("copies %+v", copies)
		}
	})
}

// A message whose row is not Done in the transaction fails it: something is wrong.
func TestRowThatIsNotClaimed(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := handler("orders")
		one := &task.Task{Handler: h, Delivery: enginetest.Delivery(h, "m", "")}
		tx, err := f.Store.Begin(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		defer tx.Rollback()
		_, err = f.r.Record(f.Context(), tx, outcome.Batch{Failed: []*outcome.Failure{{Task: one, Err: retry.Postpone(0, enginetest.ErrBoom)}}})
		if err == nil || !strings.Contains(err.Error(), "0 of 1 rows were there") {
			f.Errorf("%v", err)
		}
	})
}

// Metrics tell a postponement from a failure, and a stale message is none.
func TestRunClass(t *testing.T) {
	t.Parallel()
	for want, errs := range map[string][]error{
		"":          {nil, inbox.ErrStale},
		"postponed": {retry.Postpone(time.Second, enginetest.ErrBoom), fmt.Errorf("x: %w", retry.Postpone(0, context.DeadlineExceeded))},
		"permanent": {retry.Postpone(time.Second, retry.Permanent(enginetest.ErrBoom))},
		"transient": {enginetest.ErrBoom}, "timeout": {context.DeadlineExceeded},
	} {
		for _, err := range errs {
			if got := outcome.RunClass(err); got != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		}
	}
}
