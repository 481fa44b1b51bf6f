package group

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/retry"
)

// fakeCare advises what a test says: a real Guard needs deaths to do so, and says
// nothing of how often it was asked. The two are put together by consumer's tests.
type fakeCare struct {
	mu    sync.Mutex
	s     *spy
	level instance.Caution
	// advise answers an Enter; nil says Singly to several and Go to one.
	advise func(keys string) (instance.Advice, error)
	// grant answers a Lease, with so many in hand, and only an OnlyLease; nil is yes.
	grant func(hand, n int) int
	only  func(n int) bool
	hand  int // leases in hand
}

func (c *fakeCare) Level() instance.Caution {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level
}

func (c *fakeCare) Enter(_ context.Context, messages []inbox.ID) (instance.Advice, func(), error) {
	var keys []string
	for _, m := range messages {
		keys = append(keys, m.Key)
	}
	name := strings.Join(keys, ",")
	c.note("enter " + name)
	advice, err := instance.Go, error(nil)
	switch {
	case c.advise != nil:
		advice, err = c.advise(name)
	case len(messages) > 1:
		advice = instance.Singly
	}
	if err != nil || advice != instance.Go {
		return advice, nil, err
	}
	return instance.Go, func() { c.note("leave " + name) }, nil
}

func (c *fakeCare) note(what string) { _ = c.s.call(func() error { return nil }, what) }

func (c *fakeCare) Lease(_ string, n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.grant != nil {
		n = c.grant(c.hand, n)
	}
	c.hand += n
	return n
}

func (c *fakeCare) OnlyLease(_ string, n int) bool {
	c.note("only")
	return c.only == nil || c.only(n)
}

func (c *fakeCare) GiveBack(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hand -= n
}

func (c *fakeCare) inHand() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hand
}

// careful has a rig's tasks run with care.
func careful(care *fakeCare) func(r *rig) {
	return func(r *rig) {
		if care.level == instance.Normal {
			care.level = instance.Cautious
		}
		care.s, r.o.Care = r.spy, care
	}
}

// log is what was noted and committed, in short.
func (r *rig) story(prefixes ...string) string {
	return strings.Join(r.calls(append(prefixes, "enter", "leave")...), "; ")
}

// DESIGN 3, messages that kill the process: a message is written down before it runs, and
// crossed out when its outcome is committed; a group is taken apart.
func TestWithCareOneByOne(t *testing.T) {
	var s script
	care := &fakeCare{}
	r := newRig(t, s.run, careful(care))
	want(t, "ends", r.process("a", "b@k", "c@k"), "a applied, b applied, c applied")
	want(t, "calls", r.story("claim", "commit"), "enter a,b,c; "+
		"enter a; claim a unguarded true lock 200ms idle 1m6s; commit 0; leave a; "+
		"enter b; claim b unguarded true lock 200ms idle 1m6s; commit 0; leave b; "+
		"enter c; claim c unguarded true lock 200ms idle 1m6s; commit 0; leave c")
}

// So is its verdict, where it fails: the letter or the retry is committed first.
func TestWithCareTheVerdictComesBeforeTheNext(t *testing.T) {
	for _, strict := range []bool{false, true} {
		s := script{errs: map[string][]error{"a": {retry.Permanent(errBoom)}}}
		r := newRig(t, s.run, careful(&fakeCare{}), func(r *rig) { r.h.Strict = strict })
		want(t, "ends", r.process("a", "b"), "a dead, b applied")
		story := r.story("letter")
		if at := strings.Index(story, "letter a"); at < 0 || at > strings.Index(story, "leave a") || !strings.Contains(story, "leave a; enter b") {
			t.Errorf("strict %t: %s", strict, story)
		}
	}
}

// In normal mode, and for handlers that only take in, nobody is asked.
func TestWithoutCare(t *testing.T) {
	for name, change := range map[string]func(r *rig){
		"normal": func(r *rig) { r.o.Care.(*fakeCare).level = instance.Normal },
		"intake": func(r *rig) { r.h.Intake = true },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fine, careful(&fakeCare{}), change)
			r.process("a", "b")
			want(t, "asked", r.story(), "")
			want(t, "transactions", len(r.calls("commit")), 1)
		})
	}
}

// What may run elsewhere is left alone for a while, and holds up nobody; so is one whose
// key is held.
func TestWithCareOneWaits(t *testing.T) {
	var s script
	care := &fakeCare{}
	care.advise = func(keys string) (instance.Advice, error) {
		if strings.Contains(keys, ",") {
			return instance.Singly, nil
		}
		return map[string]instance.Advice{"elsewhere": instance.Wait}[keys], nil
	}
	r := newRig(t, s.run, careful(care))
	r.busy["held"] = 1
	again := r.e.process(r.tasks("elsewhere", "held", "c"))
	want(t, "again", keysOf(again), "elsewhere,held")
	for _, task := range again {
		want(t, task.Delivery.Key+" rests", task.rest, restTime)
	}
	want(t, "ends", r.ended(), "c applied")
	want(t, "runs", s.order(), "c")
}

// One that ended its process too often is not run again: it becomes a letter. Where
// somebody else finished it meanwhile, the claim says what it is.
func TestWithCareCrashed(t *testing.T) {
	for _, before := range []inbox.State{"", inbox.Done} {
		var s script
		care := &fakeCare{advise: func(string) (instance.Advice, error) { return instance.Crashed, nil }}
		r := newRig(t, s.run, careful(care))
		if before == "" {
			want(t, "ends", r.process("a"), "a dead")
			want(t, "letters", strings.Join(r.calls("letter"), ";"), "letter a crashed")
			want(t, "told", r.hooks("failed a crashed dead false"), 1)
		} else {
			r.record("a", before)
			want(t, "ends", r.process("a"), "a duplicate")
			want(t, "letters", len(r.calls("letter")), 0)
		}
		want(t, "runs", s.order(), "")
		want(t, "attempts", r.attempts("a"), 0)
	}
}

func (r *rig) record(key string, state inbox.State) {
	r.Helper()
	t, err := r.Store.Begin(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	task := r.task(key)
	entry := inbox.Entry{ID: task.ID(), State: state, Fingerprint: task.Delivery.Fingerprint}
	if _, err := r.Store.Inbox().Record(r.Context(), t, entry); err != nil {
		r.Fatal(err)
	}
	if err := r.Store.Commit(r.Context(), t, nil); err != nil {
		r.Fatal(err)
	}
}

// Where it cannot be written down nothing runs, and it is nobody's attempt; a stop gives
// the message back.
func TestWithCareThatFails(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		var s script
		n := 0
		var r *rig
		r = newRig(t, s.run, careful(&fakeCare{advise: func(string) (instance.Advice, error) {
			if n++; n == 1 {
				if stopped {
					r.stop()
				}
				return 0, errLost
			}
			return instance.Go, nil
		}}))
		if again := r.e.process(r.tasks("a")); stopped {
			want(t, "again", keysOf(again), "a")
			want(t, "gate", r.hooks("gate"), 0)
			want(t, "runs", s.order(), "")
			continue
		}
		want(t, "ends", r.ended(), "a applied")
		want(t, "gate closed and opened", fmt.Sprint(r.hooks("gate false"), r.hooks("gate true")), "1 1")
		want(t, "attempts", r.attempts("a"), 0)
	}
}

// A line reads one row at a time in cautious mode, and writes down what it will run
// before the transaction that runs it.
func TestLineWithCare(t *testing.T) {
	var s script
	care := &fakeCare{}
	r := newRig(t, s.run, careful(care))
	l := r.line("a", "b")
	r.work(l)
	want(t, "runs", s.order(), "a b")
	want(t, "calls", r.story("transition", "commit"), "enter a; transition waiting done; commit 0; leave a; enter b; transition waiting done; commit 0; leave b")
}

// Of a batch that it may not run together a watchful line runs each row for itself.
func TestWatchfulLine(t *testing.T) {
	var s script
	r := newRig(t, s.run, careful(&fakeCare{level: instance.Watchful}))
	l := r.line("a", "b")
	r.work(l)
	want(t, "calls", r.story(), "enter a,b; enter a; leave a; enter b; leave b")
	want(t, "runs", s.order(), "a b")
}

// Nothing runs but what was written down: a row that came, or went, meanwhile does not.
func TestLineRunsOnlyWhatWasWrittenDown(t *testing.T) {
	var s script
	var r *rig
	care := &fakeCare{}
	care.advise = func(keys string) (instance.Advice, error) {
		if keys == "a" {
			r.drop("a")
		}
		return instance.Go, nil
	}
	r = newRig(t, s.run, careful(care))
	l := r.line("a", "b")
	if result, err := l.Work(r.soft, theShard, 0); err != nil || result.Rows != 0 {
		t.Errorf("%+v, %v", result, err)
	}
	want(t, "runs", s.order(), "")
	r.work(l)
	want(t, "runs", s.order(), "b")
}

// drop takes a message's row out of the backlog, as another process does.
func (r *rig) drop(key string) {
	for _, q := range []string{"DELETE FROM headrace_backlog WHERE key = '" + key + "'", "UPDATE headrace_inbox SET state = 'done' WHERE key = '" + key + "'"} {
		if _, err := r.db().Exec(q); err != nil {
			r.Error(err)
		}
	}
}

// A row that may run elsewhere is put off, at no attempt's cost; one that ended its
// process too often becomes a letter; an error is one of the line.
func TestLineAdvice(t *testing.T) {
	for name, c := range map[string]struct {
		advice  instance.Advice
		err     error
		depth   string
		letters string
		state   inbox.State
	}{
		"wait":    {advice: instance.Wait, depth: "0 ready, 1 delayed, 0 blocked", state: inbox.Waiting},
		"crashed": {advice: instance.Crashed, depth: "0 ready, 0 delayed, 0 blocked", letters: "letter a crashed", state: inbox.Dead},
		"error":   {err: errLost, depth: "1 ready, 0 delayed, 0 blocked", state: inbox.Waiting},
	} {
		t.Run(name, func(t *testing.T) {
			var s script
			r := newRig(t, s.run, careful(&fakeCare{advise: func(string) (instance.Advice, error) { return c.advice, c.err }}))
			l := r.line("a")
			if result, err := l.Work(r.soft, theShard, 0); !errors.Is(err, c.err) || (result.Rows == 1) != (c.err == nil) {
				t.Errorf("%+v, %v", result, err)
			}
			want(t, "depth", r.depth(), c.depth)
			want(t, "letters", strings.Join(r.calls("letter"), ";"), c.letters)
			want(t, "state", r.state("a"), c.state)
			want(t, "runs", s.order(), "")
			want(t, "attempts", r.attempts("a"), 0)
			if c.advice == instance.Wait {
				want(t, "put off", r.calls("reschedule")[0], "reschedule 500ms attempt 1")
			}
		})
	}
}

// A stop while a row waits for its turn is no failure of the line.
func TestLineWithCareStops(t *testing.T) {
	var r *rig
	r = newRig(t, fine, careful(&fakeCare{advise: func(string) (instance.Advice, error) { r.stop(); return 0, context.Canceled }}))
	l := r.line("a")
	if result, err := l.Work(context.Background(), theShard, 0); err != nil || result.Rows != 0 {
		t.Errorf("%+v, %v", result, err)
	}
	want(t, "state", r.state("a"), inbox.Waiting)
}

// A task that rests is in nobody's way: neither itself nor, with an order key, its lane
// is given out before; the others are. Its order stays.
func TestQueueRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(8)
		all := func() int { return 100 }
		free, first, second, other := task("", 1), task("a", 1), task("a", 2), task("b", 1)
		for _, one := range []*Task{free, first, second} {
			q.Push(one)
		}
		taken := q.Take(all)
		free.rest, first.rest = restTime, restTime
		q.Done(taken, taken, 0)
		q.Push(other)
		if tasks := q.Take(all); len(tasks) != 1 || tasks[0] != other {
			t.Fatalf("took %s", keysOf(tasks))
		}
		q.Done([]*Task{other}, nil, 0)
		q.Push(task("a", 3)) // behind those that rest
		start := time.Now()
		var keys []string
		for len(keys) < 4 {
			tasks := q.Take(all)
			for _, one := range tasks {
				keys = append(keys, one.Delivery.Key)
				want(t, "rest", one.rest, 0)
			}
			q.Done(tasks, nil, 0)
		}
		want(t, "rested", time.Since(start), restTime)
		want(t, "lane", strings.Join(lane1(keys), ","), "a-1,a-2,a-3")
		if left := q.Close(); len(left) != 0 {
			t.Errorf("left %s", keysOf(left))
		}
	})
}

func lane1(keys []string) (of []string) {
	for _, key := range keys {
		if strings.HasPrefix(key, "a-") {
			of = append(of, key)
		}
	}
	return of
}

// A queue that closes gives back those that rest, once.
func TestClosedQueueGivesBackWhatRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(8)
		free, laned := task("", 1), task("a", 1)
		q.Push(free)
		q.Push(laned)
		taken := q.Take(func() int { return 2 })
		free.rest, laned.rest = restTime, restTime
		q.Done(taken, taken, 0)
		if left := q.Close(); len(left) != 2 {
			t.Errorf("left %s", keysOf(left))
		}
		time.Sleep(2 * restTime)
		if tasks := q.Take(func() int { return 2 }); tasks != nil || q.ready.Len() > 0 {
			t.Errorf("took %s", keysOf(tasks))
		}
	})
}
