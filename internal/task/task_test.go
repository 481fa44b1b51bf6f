package task_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/task"
)

// What the inbox row says of a message whose COMMIT had no answer is its outcome; of any
// other message it is a duplicate.
func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unknown bool
		entry   inbox.Entry
		want    task.Outcome
	}{
		{false, inbox.Entry{State: inbox.Done}, task.Duplicate},
		{false, inbox.Entry{State: inbox.Dead}, task.Duplicate},
		{false, inbox.Entry{State: inbox.Done, Stale: true}, task.Duplicate},
		{true, inbox.Entry{State: inbox.Done}, task.Applied},
		{true, inbox.Entry{State: inbox.Done, Stale: true}, task.Stale},
		{true, inbox.Entry{State: inbox.Waiting}, task.Waiting},
		{true, inbox.Entry{State: inbox.Dead}, task.Dead},
		{true, inbox.Entry{State: inbox.Discarded}, task.Duplicate},
	} {
		if got := (&task.Task{Unknown: c.unknown}).OutcomeOf(c.entry); got != c.want {
			t.Errorf("unknown %t, %+v: %s, want %s", c.unknown, c.entry, got, c.want)
		}
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	names := task.Outcomes()
	for o := task.Applied; o <= task.Released; o++ {
		if names[o] != o.String() || o.String() == "" {
			t.Errorf("outcome %d: %q and %q", o, names[o], o)
		}
	}
	if len(names) != int(task.Released)+1 || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("names %v", names)
	}
}

// Each run is given a body of its own: what a run does to it is not seen by the next.
func TestInput(t *testing.T) {
	t.Parallel()
	decoded := 0
	h := &task.Handler{Decode: func(d *headrace.Delivery) (any, error) {
		decoded++
		return &[]string{string(d.Payload)}, nil
	}}
	one := &task.Task{Handler: h, Delivery: headrace.Delivery{Payload: []byte("a")}}
	h.Resolve(one)
	first := one.Input()
	(*first.Body.(*[]string))[0] = "changed"
	second := one.Input()
	if got := (*second.Body.(*[]string))[0]; got != "a" || decoded != 2 {
		t.Errorf("the second run is given %q; decoded %d times", got, decoded)
	}
	h.Resolve(one)
	if one.Input(); decoded != 3 {
		t.Errorf("decoded %d times: what Resolve made was not used", decoded)
	}
	h.Decode = func(*headrace.Delivery) (any, error) { decoded++; return nil, errors.New("not now") }
	if body := one.Input().Body; body == nil {
		t.Error("a body that was decoded before is lost")
	}
	before := decoded
	leased := &task.Task{Handler: h, Effects: func(context.Context, *headrace.Tx) error { return nil }}
	leased.Input()
	if in := leased.Input(); in.Effects == nil || decoded != before {
		t.Errorf("decoded %d times for effects, which need no body", decoded-before)
	}
}

// A codec that panics makes the message undecodable; its words are not kept.
func TestResolve(t *testing.T) {
	t.Parallel()
	one := &task.Task{Handler: &task.Handler{Decode: func(*headrace.Delivery) (any, error) { panic("secret") }}}
	if one.Handler.Resolve(one); one.Bad == nil || strings.Contains(one.Bad.Error(), "secret") || !strings.Contains(one.Bad.Error(), "panic of type string") {
		t.Errorf("%v", one.Bad)
	}
	one.Handler.Decode = func(*headrace.Delivery) (any, error) { return 1, nil }
	if one.Handler.Resolve(one); one.Bad != nil || one.Body != 1 {
		t.Errorf("%v, %v", one.Body, one.Bad)
	}
}

func TestStrictKey(t *testing.T) {
	t.Parallel()
	row := func(strict bool, key string) *task.Task {
		return &task.Task{Item: &backlog.Item{Strict: strict, Delivery: headrace.Delivery{Scope: "s", OrderKey: key}}}
	}
	for n, one := range []*task.Task{{}, row(false, "k"), row(true, "")} {
		if key, strict := one.StrictKey(); strict {
			t.Errorf("task %d has the strict key %+v", n, key)
		}
	}
	if key, strict := row(true, "k").StrictKey(); !strict || key != (backlog.OrderKey{Scope: "s", Key: "k"}) {
		t.Errorf("%+v, %t", key, strict)
	}
	ids := task.IDs([]*task.Task{{Delivery: headrace.Delivery{Scope: "s", Key: "a"}}, {Delivery: headrace.Delivery{Scope: "s", Key: "b"}}})
	if fmt.Sprint(ids) != "[{s a} {s b}]" {
		t.Errorf("%v", ids)
	}
}

// A transaction holds as many messages as are likely to be handled within its time.
func TestRoom(t *testing.T) {
	t.Parallel()
	var p task.Pace
	if n := p.Room(64, time.Second); n != 64 {
		t.Errorf("nothing is known: %d", n)
	}
	p.Took(64*100*time.Millisecond, 64)
	if n := p.Room(64, time.Second); n != 10 {
		t.Errorf("100 ms each: %d", n)
	}
	p.Took(time.Hour, 1)
	if n := p.Room(64, time.Second); n != 1 {
		t.Errorf("slow: %d", n)
	}
	for range 100 {
		p.Took(time.Millisecond, 0)
	}
	if n := p.Room(64, time.Second); n != 64 {
		t.Errorf("fast again: %d", n)
	}
}

// After a deadlock the next 32 transactions are small.
func TestDeadlocked(t *testing.T) {
	t.Parallel()
	var p task.Pace
	p.Deadlocked()
	for n := range 32 {
		if room := p.Room(64, time.Second); room != 4 {
			t.Errorf("transaction %d has %d", n, room)
		}
	}
	if n := p.Room(64, time.Second); n != 64 {
		t.Errorf("then %d", n)
	}
	p.Deadlocked()
	if n := p.Room(2, time.Second); n != 2 {
		t.Errorf("%d of at most 2", n)
	}
}

// Savepoints are as far apart as costs least at the rate of failures: √(2/rate).
func TestSpacing(t *testing.T) {
	t.Parallel()
	rate := func(failed, n, times int) *task.Pace {
		p := new(task.Pace)
		for range times {
			p.Ran(failed, n)
		}
		return p
	}
	for name, c := range map[string]struct {
		p      *task.Pace
		n      int
		failed bool
		want   int
	}{
		"nothing fails":                 {rate(0, 64, 100), 64, false, 0},
		"nothing failed before":         {new(task.Pace), 64, true, 11}, // √128
		"nothing failed before, few":    {new(task.Pace), 2, true, 2},
		"one in twenty":                 {rate(1, 20, 1000), 64, false, 6}, // √40
		"one in twenty, after a one":    {rate(1, 20, 1000), 64, true, 6},
		"as far apart as they are many": {rate(1, 20, 1000), 6, false, 0},
		"half":                          {rate(32, 64, 1000), 64, false, 2},
		"all":                           {rate(64, 64, 1000), 64, false, 1},
		"a rollback costs less":         {rate(1, 1000, 2000), 32, false, 0}, // √2000 is above 32
		"one message that hardly fails": {rate(1, 20, 1000), 1, false, 0},
		"one message that fails often":  {rate(32, 64, 1000), 1, false, 2},
	} {
		if got := c.p.Spacing(c.n, c.failed); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	all := rate(64, 64, 1000)
	if n := all.Room(64, time.Hour); n != 32 { // a savepoint for each, and 32 of them
		t.Errorf("%d messages in a transaction in which each has a savepoint", n)
	}
	for range 5000 {
		all.Ran(0, 64)
	}
	if s := all.Spacing(64, false); s != 0 {
		t.Errorf("spacing %d long after the last failure", s)
	}
	none := new(task.Pace)
	none.Ran(0, 0)
	none.Ran(5, 0)
	if s := none.Spacing(math.MaxInt, false); s != math.MaxInt && s != 0 {
		t.Errorf("spacing %d of nothing", s)
	}
}

// A handler counts as slow until it is known to be fast.
func TestSlow(t *testing.T) {
	var p task.Pace
	if !p.Slow() {
		t.Error("nothing is known, and it is fast")
	}
	if p.Took(10*time.Millisecond, 100); p.Slow() {
		t.Error("0.1 ms a message is slow")
	}
	var slow task.Pace
	if slow.Took(20*time.Millisecond, 1); !slow.Slow() {
		t.Error("20 ms a message is fast")
	}
}
