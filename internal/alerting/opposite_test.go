package alerting

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/alerts"
)

// turns sends the kinds one after the other, each so long after the one before.
func turns(d *Dispatcher, after time.Duration, kinds ...alerts.Kind) {
	for _, kind := range kinds {
		time.Sleep(after)
		d.Send(infra(kind))
		synctest.Wait()
	}
}

// The last word is true soon: a consumer that is paused, resumed, and paused for good
// within the quiet time is said to be paused when that has settled.
func TestLastWordIsTrueSoon(t *testing.T) {
	for _, kinds := range [][2]alerts.Kind{{alerts.Paused, alerts.Resumed}, {alerts.RelayStalled, alerts.RelayResumed}} {
		synctest.Test(t, func(t *testing.T) {
			var n notes
			d, _ := start(n.hook)
			bad, good := string(kinds[0])+"*1", string(kinds[1])+"*1"
			turns(d, 7*time.Millisecond, kinds[0], kinds[1], kinds[0])
			if n.said() != bad+" "+good {
				t.Errorf("at once: %s", n.said())
			}
			time.Sleep(settleTime)
			synctest.Wait()
			if n.said() != bad+" "+good+" "+bad {
				t.Errorf("when it has settled: %s", n.said())
			}
			time.Sleep(time.Hour)
			mustClose(t, d)
			if n.said() != bad+" "+good+" "+bad || groups(d) != 0 {
				t.Errorf("later: %s; %d groups kept", n.said(), groups(d))
			}
		})
	}
}

// What came and went without a word is counted, with the quiet time, in a word that is
// true.
func TestShortTurnWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notes
		d, _ := start(n.hook)
		turns(d, time.Second, alerts.Paused, alerts.Resumed, alerts.Paused, alerts.Resumed)
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if n.said() != "paused*1 resumed*1" {
			t.Errorf("said %s", n.said())
		}
		time.Sleep(20 * time.Second)
		mustClose(t, d)
		if n.said() != "paused*1 resumed*1 resumed*2" {
			t.Errorf("said %s", n.said())
		}
	})
}

// INVARIANT 19: no storm. A state that changes faster than it settles waits for the
// quiet time, and one that changes slower settles later and later.
func TestFlapping(t *testing.T) {
	for every, most := range map[time.Duration]int{time.Second: 10, 6 * time.Second: 16, 20 * time.Second: 40} {
		synctest.Test(t, func(t *testing.T) {
			var n notes
			d := NewDispatcher(NewCaller(n.hook, nil), alerts.Options{PerMinute: 1000})
			for range int(20*time.Minute/every) / 2 {
				turns(d, every, alerts.Resumed, alerts.Paused)
			}
			time.Sleep(settleMost)
			synctest.Wait()
			list := n.list()
			if len(list) > most || list[len(list)-1].Kind != alerts.Paused {
				t.Errorf("every %s: %d alerts in 20 minutes, the last one %s", every, len(list), list[len(list)-1].Kind)
			}
			mustClose(t, d)
		})
	}
}

// INVARIANT 19: PerMinute holds for what goes out ahead of the quiet time as well.
func TestTurnsKeepPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notes
		d := NewDispatcher(NewCaller(n.hook, nil), alerts.Options{PerMinute: 2})
		turns(d, time.Millisecond, alerts.Paused, alerts.Resumed, alerts.Paused)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if n.said() != "paused*1 resumed*1" {
			t.Errorf("within the minute: %s", n.said())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n.said() != "paused*1 resumed*1 paused*1" {
			t.Errorf("then: %s", n.said())
		}
		mustClose(t, d)
	})
}

// A word that is false by the time that it would be told is not told: where both wait,
// the newest counts the others; so where the hook is slow, or has refused the older one.
func TestNoWordThatIsKnownToBeFalse(t *testing.T) {
	for name, c := range map[string]struct {
		slow, refuse bool
		want         string
	}{
		"both wait": {want: "paused*1 resumed*1 paused*15"},
		"refused":   {refuse: true, want: "paused*1 resumed*1 paused*15"},
		"slow":      {slow: true, want: "paused*1 paused*16"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n notes
				var refuse atomic.Bool
				var state atomic.Value
				d, _ := start(func(ctx context.Context, a alerts.Alert) error {
					if a.Kind == alerts.HandlerStuck {
						time.Sleep(8 * time.Second)
						return nil
					}
					if a.Kind != state.Load() {
						t.Errorf("%s was told when the state was %s", a.Kind, state.Load())
					}
					if refuse.Load() {
						return errors.New("busy")
					}
					return n.hook(ctx, a)
				})
				if c.slow {
					d.Send(alerts.Alert{Kind: alerts.HandlerStuck, Consumer: "c"})
				}
				word := func(kind alerts.Kind, last time.Duration) {
					state.Store(kind)
					d.Send(infra(kind))
					time.Sleep(last)
				}
				for range 8 {
					word(alerts.Paused, 200*time.Millisecond)
					word(alerts.Resumed, 200*time.Millisecond)
					refuse.Store(c.refuse)
				}
				word(alerts.Paused, 20*time.Second)
				refuse.Store(false)
				time.Sleep(time.Hour)
				mustClose(t, d)
				if n.said() != c.want || d.Dropped() != 0 {
					t.Errorf("said %s, want %s; %d dropped", n.said(), c.want, d.Dropped())
				}
			})
		})
	}
}

// What is taken to be told in one go with others is looked at again before its turn, and
// after a refusal.
func TestWordThatBecomesFalseInItsTurn(t *testing.T) {
	for _, refused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var n notes
			d, _ := start(nil)
			first := true
			d.caller.hook = func(ctx context.Context, a alerts.Alert) error {
				if first && (refused || a.Kind == alerts.HandlerStuck) {
					first = false
					d.Send(infra(alerts.Resumed))
					if refused {
						return errors.New("busy")
					}
				}
				return n.hook(ctx, a)
			}
			d.mu.Lock()
			if !refused {
				d.debouncer.add(alerts.Alert{Kind: alerts.HandlerStuck, Consumer: "c", At: time.Now()})
			}
			d.debouncer.add(alerts.Alert{Kind: alerts.Paused, Consumer: "c", At: time.Now().Add(time.Nanosecond)})
			d.mu.Unlock()
			d.signal.Wake()
			time.Sleep(time.Hour)
			mustClose(t, d)
			if said := strings.TrimPrefix(n.said(), "handler_stuck*1 "); said != "resumed*2" || d.Dropped() != 0 {
				t.Errorf("refused %v: said %s; %d dropped", refused, n.said(), d.Dropped())
			}
		})
	}
}

// A hook that fails for long is told in the end: what takes the last word back is not
// given up after maxTries, and does not wait for the quiet time of the other.
func TestLastWordIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notes
		var down atomic.Bool
		d := NewDispatcher(NewCaller(func(ctx context.Context, a alerts.Alert) error {
			if down.Load() {
				return errors.New("busy")
			}
			return n.hook(ctx, a)
		}, nil), alerts.Options{Quiet: 12 * time.Hour})
		turns(d, time.Second, alerts.Paused)
		down.Store(true)
		turns(d, time.Second, alerts.Resumed, alerts.Paused, alerts.Resumed)
		time.Sleep(time.Hour)
		down.Store(false)
		time.Sleep(lastRetry)
		synctest.Wait()
		if n.said() != "paused*1 resumed*3" {
			t.Errorf("said %s", n.said())
		}
		mustClose(t, d)
		if d.Dropped() != 0 {
			t.Errorf("%d dropped: the pause that ended meanwhile is counted in", d.Dropped())
		}
	})
}

// Where too many groups are known for a new one, what takes one of them back is heard.
func TestLastWordWhereThereIsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n notes
		d, _ := start(n.hook)
		turns(d, time.Second, alerts.Paused)
		d.mu.Lock()
		for i := len(d.debouncer.groups); i < maxGroups; i++ {
			d.debouncer.groups[group{alerts.HandlerStuck, "billing", string(rune(i))}] = &entry{quiet: map[alerts.Kind]time.Time{alerts.HandlerStuck: time.Now().Add(time.Hour)}}
		}
		d.mu.Unlock()
		turns(d, time.Second, alerts.Resumed)
		mustClose(t, d)
		if n.said() != "paused*1 resumed*1" {
			t.Errorf("said %s", n.said())
		}
	})
}
