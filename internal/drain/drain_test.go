package drain_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/internal/drain"
)

// DESIGN §3 Backlog and drain: shards are visited round robin.
//
//evidence:fair
func TestShardsAreVisitedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.took = time.Millisecond
		for s := range 3 {
			l.add(s, span(100, 1)...)
		}
		l.during(time.Second, drain.Options{Workers: 1}, nil)
		for i := range 30 {
			if got, want := l.visits[i].shard, l.visits[i%3].shard; got != want {
				t.Fatalf("visit %d went to shard %d, want %d: %+v", i, got, want, l.visits[:i+1])
			}
		}
	})
}

// A shard is worked on by one worker at a time: fakeLine reports two. All shards
// are worked on at once.
func TestAShardHasOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.took = 100 * time.Millisecond
		wake := make(chan struct{}, 1)
		l.during(0, drain.Options{Workers: 4, Wake: wake}, func() {
			for i := range 50 {
				for s := range 4 {
					l.add(s, int64(i+1))
				}
				wake <- struct{}{}
				time.Sleep(20 * time.Millisecond)
			}
			time.Sleep(time.Second)
		})
		if len(l.worked) != 50 {
			t.Errorf("%d rows of each shard worked off, want 50", len(l.worked))
		}
	})
}

// Idle polling costs one cheap statement about once in MaxPoll.
//
//evidence:idle
func TestIdlePollsGrowApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.during(time.Minute, drain.Options{}, nil)
		if n := len(l.polls); n < 50 || n > 80 {
			t.Errorf("%d polls in an idle minute, want about 65", n)
		}
		if len(l.visits) != 0 {
			t.Errorf("an idle line was visited: %v", l.visits)
		}
	})
}

//evidence:fair
func TestWakePollsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		wake := make(chan struct{}, 1)
		var woken time.Time
		l.during(time.Second, drain.Options{Wake: wake}, func() {
			time.Sleep(time.Minute)
			l.add(3, 7)
			woken = time.Now()
			wake <- struct{}{}
		})
		if d := l.worked[7].Sub(woken); d > 5*time.Millisecond {
			t.Errorf("worked off %s after the wake-up, want at once", d)
		}
	})
}

// A hail of wake-ups is no hail of polls.
func TestWakesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		wake := make(chan struct{}, 1)
		l.during(0, drain.Options{Wake: wake}, func() {
			for range 1000 {
				wake <- struct{}{}
				time.Sleep(100 * time.Microsecond)
			}
		})
		if n := len(l.polls); n > 25 {
			t.Errorf("%d polls for 1000 wake-ups in 100 ms, want one in 5 ms", n)
		}
	})
}

// A row that becomes due is looked for then, not at the next idle poll.
func TestPollsWhenTheNextRowIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.next = 300 * time.Millisecond
		l.during(10*time.Second, drain.Options{MaxPoll: time.Minute, MinPoll: time.Second / 4}, nil)
		if n := len(l.polls); n < 30 {
			t.Errorf("%d polls in 10 s with a row due every 300 ms", n)
		}
	})
}

// DESIGN §3 Backlog and drain: a late committer may stand below the mark; the bottom is read
// again at short intervals, and the mark saves the rest of the polls from it.
//
//evidence:late-row
func TestTheBottomIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.during(time.Second, drain.Options{MaxPoll: 20 * time.Millisecond, BottomEvery: time.Second / 2}, func() {
			l.add(0, 100, 101)
			time.Sleep(time.Second)
			l.add(0, 5)
		})
		if l.worked[5].IsZero() {
			t.Fatal("the row below the mark was never worked off")
		}
		marked := 0
		for _, p := range l.polls {
			if p.marks[0] == 101 {
				marked++
			}
		}
		if marked < len(l.polls)/2 {
			t.Errorf("%d of %d polls used the mark, want most", marked, len(l.polls))
		}
	})
}

// The same while a shard always has more: no poll finds the row then.
//
//evidence:late-row
func TestTheBottomIsReadAgainUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.took = 10 * time.Millisecond
		l.add(0, span(10_000, 1000)...)
		l.during(2*time.Second, drain.Options{BottomEvery: time.Second / 2}, func() {
			time.Sleep(time.Second)
			l.add(0, 5)
		})
		if l.worked[5].IsZero() {
			t.Fatal("the row below the mark was not worked off while there was more above")
		}
		bottoms := 0
		for _, v := range l.visits {
			if v.after == 0 {
				bottoms++
			}
		}
		if bottoms > 10 {
			t.Errorf("%d of %d batches began at the bottom, want one in 500 ms", bottoms, len(l.visits))
		}
	})
}

// Where a look at the bottom is dear, because a long snapshot keeps what was
// deleted, it takes a tenth of the time.
func TestADearBottomIsReadLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.took, l.bottomCost = 10*time.Millisecond, 200*time.Millisecond
		l.add(0, span(100_000, 1000)...)
		l.during(20*time.Second, drain.Options{}, nil)
		bottoms := 0
		for _, v := range l.visits {
			if v.after == 0 {
				bottoms++
			}
		}
		if bottoms < 5 || bottoms > 12 {
			t.Errorf("%d of %d batches in 20 s began at the bottom, want about one in 2 s", bottoms, len(l.visits))
		}
	})
}

// A shard that another process holds is not hammered, though others keep the polls
// close together.
func TestASkippedShardRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.add(0, 1)
		l.skip[0] = true
		l.during(0, drain.Options{}, func() {
			for i := range 6000 {
				l.add(1, int64(i+2))
				time.Sleep(10 * time.Millisecond)
			}
			l.mu.Lock()
			visits := 0
			for _, v := range l.visits {
				if v.shard == 0 {
					visits++
				}
			}
			if visits > 90 {
				t.Errorf("%d visits in a minute to a shard that is held elsewhere", visits)
			}
			l.skip[0] = false
			l.mu.Unlock()
			time.Sleep(2 * time.Second)
		})
		if len(l.worked) != 6001 {
			t.Errorf("%d rows were worked off, want 6001", len(l.worked))
		}
	})
}

// Run returns when the work under way has returned, and starts none after ctx has
// ended.
func TestRunWaitsForItsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.took = time.Second
		l.add(0, span(100, 1)...)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		drain.New(l, drain.Options{Workers: 1}).Run(ctx)
		if len(l.visits) != 2 {
			t.Errorf("%d batches had returned with Run, want the two that were begun", len(l.visits))
		}
	})
}

// A failing shard pauses alone, longer each time, and is reported, as is its
// recovery.
//
//evidence:fair
func TestAFailingShardPausesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.add(0, 1)
		l.workErr[0] = errBroken
		var states []error
		l.during(0, drain.Options{OnState: changes(&states)}, func() {
			time.Sleep(time.Minute)
			l.add(1, 2)
			time.Sleep(2 * time.Second)
			l.mu.Lock()
			if n := len(l.visits); n < 10 || n > 30 {
				t.Errorf("%d visits in a minute, want about 20", n)
			}
			if l.worked[2].IsZero() {
				t.Error("the other shard did not flow")
			}
			delete(l.workErr, 0)
			l.mu.Unlock()
			time.Sleep(10 * time.Second)
		})
		if l.worked[1].IsZero() {
			t.Error("the shard did not recover")
		}
		if len(states) != 2 || !errors.Is(states[0], errBroken) || states[1] != nil {
			t.Errorf("reported %v, want the first error and the recovery", states)
		}
	})
}

// changes keeps the first error and the recovery.
func changes(states *[]error) func(error) {
	return func(err error) {
		if n := len(*states); err == nil || n == 0 || (*states)[n-1] == nil {
			*states = append(*states, err)
		}
	}
}

// A failing shard whose rows another process has worked off is well.
func TestAFailureEndsWithItsRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.add(0, 1)
		l.workErr[0] = errBroken
		var states []error
		l.during(time.Minute, drain.Options{OnState: changes(&states)}, func() {
			time.Sleep(time.Second)
			l.mu.Lock()
			l.rows[0] = nil
			l.mu.Unlock()
		})
		if len(states) != 2 || states[1] != nil {
			t.Errorf("reported %v, want the error and the recovery", states)
		}
	})
}

func TestAFailingPollPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.pollErr = errBroken
		l.add(0, 1)
		wake := make(chan struct{}, 1)
		var states []error
		o := drain.Options{Wake: wake, OnState: changes(&states)}
		l.during(10*time.Second, o, func() {
			for range 600 { // wake-ups do not shorten the pause
				wake <- struct{}{}
				time.Sleep(100 * time.Millisecond)
			}
			l.mu.Lock()
			if n := len(l.polls); n < 10 || n > 30 {
				t.Errorf("%d polls in a failing minute, want about 20", n)
			}
			l.pollErr = nil
			l.mu.Unlock()
		})
		if l.worked[1].IsZero() {
			t.Error("the line did not recover")
		}
		if len(states) != 2 || !errors.Is(states[0], errBroken) || states[1] != nil {
			t.Errorf("reported %v, want the first error and the recovery", states)
		}
	})
}
