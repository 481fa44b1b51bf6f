package steps_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// classify is a step whose results messages share.
var classify = ledger.Step[string]{Name: "classify", System: "model", Recover: ledger.Retry, KeyWindow: ledger.Forever, Memo: time.Hour}

// errKilled is the error of a call whose process was killed.
var errKilled = errors.New("killed")

// leased are n more messages under leases.
func (b *bed) leased(n int) (all []*task.Task) {
	b.Helper()
	for i := range n {
		b.e.Put(b.h, fmt.Sprint("n", i))
		all = append(all, b.e.Lease(b.h, 1)...)
	}
	return all
}

// ask does the step for a message, in a process that is killed after the commit of that number;
// 0 is none.
func (b *bed) ask(one *task.Task, step ledger.Step[string], input string, killAfter int64, call func(r *run) (string, error)) (string, error) {
	b.Helper()
	r, ctx := b.beginOf(one, step)
	defer r.End()
	r.killAfter.Store(killAfter)
	return step.Input(input).Do(ctx, func(context.Context, *ledger.Call) (string, error) { return call(r) })
}

// memosPass has the time of all memos be over, with their results or without.
func (b *bed) memosPass() {
	b.Helper()
	b.Exec("UPDATE headrace_memos SET until_at = until_at - " + b.Span(2*time.Hour))
}

// says returns a function that counts its calls, and answers.
func says(calls *atomic.Int32, answer string) func(*run) (string, error) {
	return func(*run) (string, error) { calls.Add(1); return answer, nil }
}

// Sixteen messages ask the same; the first is killed in its call, and the second is slower
// than its term: there are three calls, and one answer.
//
//evidence:memo
func TestMemoOfManyMessages(t *testing.T) {
	onEachStore(t, func(b *bed) {
		all := append(b.leased(15), b.one)
		var calls atomic.Int32
		_, err := b.ask(all[0], classify, "in", 0, func(r *run) (string, error) { calls.Add(1); r.kill(); return "", errKilled })
		if err == nil {
			b.Error("a killed process has an answer")
		}
		b.memosPass()
		began, finish := make(chan struct{}), make(chan struct{})
		answers := make([]string, len(all))
		var slow, others sync.WaitGroup
		slow.Go(func() {
			answers[1], _ = b.ask(all[1], classify, "in", 0, func(*run) (string, error) {
				calls.Add(1)
				close(began)
				<-finish
				return "slow", nil
			})
		})
		<-began
		b.memosPass()
		for i := range all {
			if i == 1 {
				continue
			}
			others.Go(func() {
				err := error(nil)
				for first := true; first || isPostponed(err); first = false { // a message that is put off comes again
					answers[i], err = b.ask(all[i], classify, "in", 0, says(&calls, "fast"))
				}
			})
		}
		others.Wait()
		close(finish)
		slow.Wait()
		for i, got := range answers {
			if got != "fast" {
				b.Errorf("message %d has %q", i, got)
			}
			if r := b.rowOf(all[i], "classify"); r.State != ledger.Done || string(r.Result) != `"fast"` {
				b.Errorf("message %d: %+v", i, r)
			}
		}
		if n := calls.Load(); n != 3 {
			b.Errorf("%d calls", n)
		}
	})
}

// A call that fails, in whatever way, lets another message make it at once, and is not
// shared. Neither is a result that cannot be kept.
//
//evidence:memo
func TestMemoOfAnError(t *testing.T) {
	for name, err := range map[string]error{"unknown": errors.New("away"), "refused": ledger.Refused(errors.New("no")), "later": ledger.NotSent(retry.Postpone(time.Minute, errors.New("429")))} {
		onEachStoreOf(t, name, func(b *bed) {
			other := b.leased(1)[0]
			if _, got := b.ask(b.one, classify, "in", 0, func(*run) (string, error) { return "", err }); !errors.Is(got, err) {
				b.Errorf("%v", got)
			}
			var calls atomic.Int32
			for i, one := range []*task.Task{other, b.one} {
				if got, err := b.ask(one, classify, "in", 0, says(&calls, fmt.Sprint(i))); err != nil || got != "0" {
					b.Errorf("%q, %v", got, err)
				}
			}
			if r := b.row("classify"); calls.Load() != 1 || r.Via != ledger.ViaMemo || r.State != ledger.Done {
				b.Errorf("%d calls, %+v", calls.Load(), r)
			}
		})
	}
	onEachStoreOf(t, "too large", func(b *bed) {
		_, err := b.ask(b.one, classify, "in", 0, func(*run) (string, error) { return string(make([]byte, ledger.MaxResult)), nil })
		var calls atomic.Int32
		got, otherErr := b.ask(b.leased(1)[0], classify, "in", 0, says(&calls, "short"))
		if !parked(err) || got != "short" || otherErr != nil {
			b.Errorf("%v; then %q, %v", err, got, otherErr)
		}
	})
}

// After its time a result is made anew, also for the same input. A message keeps the answer
// that it has. Another input has its own.
//
//evidence:memo
func TestMemoHasATimeAndAnInput(t *testing.T) {
	onEachStore(t, func(b *bed) {
		all := b.leased(3)
		var calls atomic.Int32
		get := func(one *task.Task, input, answer, want string) {
			b.Helper()
			if got, err := b.ask(one, classify, input, 0, says(&calls, answer)); err != nil || got != want {
				b.Errorf("%q instead of %q, %v", got, want, err)
			}
		}
		get(b.one, "in", "1", "1")
		get(all[0], "in", "2", "1")
		get(all[1], "another", "3", "3")
		b.memosPass()
		get(all[2], "in", "4", "4")
		get(b.one, "in", "5", "1")
		get(all[0], "in", "5", "1")
		if n := calls.Load(); n != 3 {
			b.Errorf("%d calls", n)
		}
		r, ctx := b.begin(classify)
		defer r.End()
		_, err := classify.Do(ctx, func(context.Context, *ledger.Call) (string, error) { return "", nil })
		if !errors.Is(err, ledger.ErrNoInput) {
			b.Errorf("%v", err)
		}
	})
}

// A process that is killed after any commit, or in its call (0), leaves a memo from which
// others go on: there is one answer.
//
//evidence:memo
func TestKilledAroundAMemo(t *testing.T) {
	for at := range int64(5) {
		onEachStoreOf(t, fmt.Sprint("after commit ", at), func(b *bed) {
			other := b.leased(1)[0]
			var calls atomic.Int32
			call := func(r *run) (string, error) {
				if n := calls.Add(1); n == 1 && at == 0 {
					r.kill()
				}
				return fmt.Sprint("answer ", calls.Load()), nil
			}
			_, _ = b.ask(b.one, classify, "in", at, call)
			if at < 3 { // no result was shared
				b.memosPass()
			}
			want, wantCalls := "answer 1", int32(1)
			if at == 0 {
				want, wantCalls = "answer 2", 2
			}
			for _, one := range []*task.Task{other, b.one} {
				if got, err := b.ask(one, classify, "in", 0, call); got != want || err != nil {
					b.Errorf("%q, %v", got, err)
				}
			}
			if n := calls.Load(); n != wantCalls {
				b.Errorf("%d calls", n)
			}
		})
	}
}

// While another makes the call a message waits a second, and is then put off: it marks
// nothing, and does not stay for long.
//
//evidence:memo
func TestMemoOfACallUnderWay(t *testing.T) {
	onEachStore(t, func(b *bed) {
		other := b.leased(1)[0]
		_, _ = b.ask(other, classify, "in", 0, func(r *run) (string, error) { r.kill(); return "", errKilled })
		var calls atomic.Int32
		_, err := b.ask(b.one, classify, "in", 0, says(&calls, "1"))
		delay, _, ok := retry.Postponed(err)
		if !ok || delay < 5*time.Second || delay > time.Minute || b.row("classify").State != "" || calls.Load() != 0 {
			b.Errorf("%s, %v, %+v, %d calls", delay, err, b.row("classify"), calls.Load())
		}
		b.memosPass()
		if got, err := b.ask(b.one, classify, "in", 0, says(&calls, "1")); got != "1" || err != nil {
			b.Errorf("%q, %v", got, err)
		}
	})
}

// A lost lease adopts nothing, and begins no call.
func TestMemoUnderTheLease(t *testing.T) {
	onEachStore(t, func(b *bed) {
		other := b.leased(1)[0]
		var calls atomic.Int32
		if _, err := b.ask(other, classify, "in", 0, says(&calls, "1")); err != nil {
			b.Fatal(err)
		}
		b.Exec("UPDATE headrace_backlog SET token = 'another' WHERE key = 'm'")
		for range 2 { // with a result, and without
			if _, err := b.ask(b.one, classify, "in", 0, says(&calls, "2")); !errors.Is(err, ledger.ErrLost) || b.row("classify").State != "" {
				b.Errorf("%v", err)
			}
			b.Exec("DELETE FROM headrace_memos")
		}
		if n := calls.Load(); n != 1 {
			b.Errorf("%d calls", n)
		}
	})
}

// A shared result needs no turn of its system. A step that does not get its turn lets another
// message make the call, and one whose turn came after its term does not make it a second time.
//
//evidence:memo
func TestMemoAndTheTurn(t *testing.T) {
	onEachStore(t, func(b *bed) {
		all := b.leased(3)
		var calls atomic.Int32
		b.systems = systems.New(map[string]ledger.Limit{"model": {Concurrent: 1}}, nil)
		visit, err := b.systems.Enter(b.Context(), "model") // another step is there
		if err != nil {
			b.Fatal(err)
		}
		r, ctx := b.beginOf(all[0], classify)
		short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		if _, err := classify.Input("in").Do(short, func(context.Context, *ledger.Call) (string, error) { return "no", nil }); !isPostponed(err) {
			b.Errorf("%v", err)
		}
		r.End()
		if n := b.Count("SELECT count(*) FROM headrace_memos"); n != 0 {
			b.Errorf("%d calls are held", n)
		}
		var late sync.WaitGroup
		r, ctx = b.beginOf(all[1], classify)
		late.Go(func() { // it has the call, and waits for its turn
			got, err := classify.Input("in").Do(ctx, func(context.Context, *ledger.Call) (string, error) { return says(&calls, "late")(nil) })
			if err != nil || got != "first" {
				b.Errorf("%q, %v", got, err)
			}
		})
		b.Eventually("the call is taken", func() bool { return b.Count("SELECT count(*) FROM headrace_memos") == 1 })
		b.memosPass()
		limited := b.systems
		b.systems = nil // a process without the limit
		if got, err := b.ask(b.one, classify, "in", 0, says(&calls, "first")); err != nil || got != "first" {
			b.Errorf("%q, %v", got, err)
		}
		b.systems = limited
		if got, err := b.ask(all[2], classify, "in", 0, says(&calls, "turn")); err != nil || got != "first" { // the place is taken still
			b.Errorf("%q, %v", got, err)
		}
		visit.Leave()
		late.Wait()
		r.End()
		if n := calls.Load(); n != 1 {
			b.Errorf("%d calls", n)
		}
	})
}

// A step that need not wait for its turn takes the call once: a take, a mark, the shared result,
// and the step's own.
func TestMemoIsTakenOnce(t *testing.T) {
	onEachStore(t, func(b *bed) {
		r, ctx := b.begin(classify)
		defer r.End()
		got, err := classify.Input("in").Do(ctx, func(context.Context, *ledger.Call) (string, error) { return "first", nil })
		if n := r.commits.Load(); err != nil || got != "first" || n != 4 {
			b.Errorf("%q, %v, after %d commits", got, err, n)
		}
	})
}

// What cannot be shared is refused at the start.
func TestMemoIsDeclared(t *testing.T) {
	for name, step := range map[string]ledger.Declared{
		"window":   ledger.Step[string]{Name: "a", System: "b", Recover: ledger.Retry, KeyWindow: time.Hour, Memo: time.Hour},
		"recovery": ledger.Step[string]{Name: "a", System: "b", Recover: ledger.Park, Memo: time.Hour},
		"result":   ledger.Step[struct{}]{Name: "a", System: "b", Recover: ledger.Retry, KeyWindow: ledger.Forever, Memo: time.Hour},
		"unit":     ledger.Step[string]{Name: "a", System: "b", Recover: ledger.Retry, KeyWindow: ledger.Forever, Memo: 24},
	} {
		if _, err := step.Declare(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
